"""The memory of a project besides its code: discoveries, sessions, accesses to files."""
