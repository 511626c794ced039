"""Pictures of results: one kind of picture, one module."""
