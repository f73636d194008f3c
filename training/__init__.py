"""Where the data comes from that the text embedding is trained on."""
