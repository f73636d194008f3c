"""Names of symbols, modules, kinds and files: how they are written, taken apart and found."""
