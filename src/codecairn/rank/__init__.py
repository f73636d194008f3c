"""Search: what a query means, which chunks are candidates, and why one stands before another."""
