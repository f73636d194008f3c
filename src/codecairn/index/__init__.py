"""The index of one project: listing, reading, publishing, watching, and saying how fresh it is."""
