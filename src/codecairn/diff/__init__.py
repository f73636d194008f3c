"""What changed between two states of a project, told by symbol: the part of `diff_context` that knows no repository."""
