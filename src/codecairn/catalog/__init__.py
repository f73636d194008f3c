"""The instruction catalogue: a team's rules for agents, kept as files, checked, searched, counted and gated."""
