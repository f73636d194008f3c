"""Cairn: the context server a coding agent runs beside a repository."""

__version__ = "0.1.0"
