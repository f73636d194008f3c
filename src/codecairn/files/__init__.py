"""Reading one file of a project, and searching all of them by a regular expression."""
