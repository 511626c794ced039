"""Comparisons of sets of results, and of packet traces."""
