"""What someone new to a project needs to know of it: its stack, its modules, what is central, what moves, and the
context for one task. Values from a view of the index, from git and from the files; and their Markdown."""
