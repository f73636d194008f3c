"""Anchors: the paths, links, commands and names of code that rules speak of, held against the project and its past."""
