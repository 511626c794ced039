"""What is warned of when results are read: the commands say it beside their tables, Python programs hear of it."""


class UnsoundRun(UserWarning):
    """Some runs are unsound: the machine could not keep up with them, and their numbers mean nothing."""


class IdenticalRepeats(UserWarning):
    """Repeats of a cell came out the same, because hardly anything in the scenario is random."""
