"""Warnings about results: commands print them beside their tables, Python programs get them as warnings."""


class UnsoundRun(UserWarning):
    """Some runs are unsound: the machine could not keep up with them, and their numbers mean nothing."""


class IdenticalRepeats(UserWarning):
    """Repeats of a cell came out the same, because hardly anything in the scenario is random."""
