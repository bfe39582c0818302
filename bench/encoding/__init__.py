"""The embedder without HTTP: the bare encoders beside each other, and what surrounds them."""
