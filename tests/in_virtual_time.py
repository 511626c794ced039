"""`unbloat`, whose shell in a guest has the clock of a guest's run: it goes on at once when nobody has anything to do.

That is not for users: a program that waits for this machine, for a file or for a key, would wait for ages.
"""

import sys

from unbloat.cli.entry import main
from unbloat.guest import qemu

qemu.CLOCK_FOR_PROGRAMS = qemu.CLOCK
sys.exit(main())
