"""Comparisons of packet traces, packet by packet."""
