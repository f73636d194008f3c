"""Text as vectors: the model that ships with the product, and others for those who have them."""
