"""Sets of results held against each other, and packet traces."""
