"""The data that outlives the process. All SQL is here, and so are the names of all folders."""
