"""Answers made for reading."""
