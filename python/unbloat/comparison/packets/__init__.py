"""Packet traces held against each other, packet by packet."""
