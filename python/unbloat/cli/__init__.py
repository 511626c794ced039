"""The command line: parses arguments, calls the library, prints. Nothing else imports it. Exit statuses."""

DONE = 0
FAILED = 1
"""A run failed, or a check found something."""
WRONG_INPUT = 2
INTERRUPTED = 130
