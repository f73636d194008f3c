"""Changes between two states of a project, by symbol: the part of `diff_context` that knows no repository."""
