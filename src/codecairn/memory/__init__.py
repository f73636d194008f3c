"""What is remembered of a project besides its code: discoveries, sessions, what was opened when."""
