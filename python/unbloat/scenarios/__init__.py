"""Scenarios: reading, identity, keys, and the catalogue of names."""
