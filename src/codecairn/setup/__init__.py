"""Writes Cairn into the configuration of the clients on this machine, and takes it out again."""
