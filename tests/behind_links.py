"""In a guest: programs behind one link after the other. To start a guest for each would take far longer.

    behind_links.py TASKS    a file with a list: each a grid point as `GridPoint.portable` gives it, and arguments of `GridPoint.shell`

Before what a program prints stands a line with `link`.
"""

import json
import sys
from pathlib import Path

from unbloat import _core

MARK = "link"

if __name__ == "__main__":
    for task in json.loads(Path(sys.argv[1]).read_text()):
        print(MARK, flush=True)
        status, _ = _core.resolved(task.pop("point")).shell(**task, on="vm", objects={})
        if status:
            sys.exit(status)
