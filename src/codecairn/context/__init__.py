"""Pages for a newcomer to a project: its stack, modules, central symbols and recent changes; and the context for one
task. Made from a view of the index, from git and from the files."""
