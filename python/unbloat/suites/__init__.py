"""Suites: criteria over scenarios into which a candidate is put, and cards that say which of them it meets."""
