"""Bytes in: git and the file system are touched here and nowhere else."""
