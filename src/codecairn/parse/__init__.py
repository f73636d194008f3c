"""Source text in, facts out: symbols, sites, imports, bindings, chunks. A language is one data file."""
