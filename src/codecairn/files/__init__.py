"""What the files of a project say: one of them read, all of them searched by a regular expression."""
