"""The page: what Cairn knows, for eyes. HTML from the same tools, inside the HTTP server.

A request comes in at `site`, with its session (`sessions`) and its form checked; a view (`search`, `symbol`, `branch`,
`memory`, `rules`, `server`) asks tools through `asking` and returns the name of a template with its values; `rendering`
makes HTML of them. Views know nothing of HTTP, and templates nothing of tools. Only a server over HTTP imports this.
"""
