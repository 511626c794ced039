"""Runs a program in a guest that has the clock of a guest's run: it goes on at once when nobody has anything to do.

That is not for users: a program that waits for this machine, for a file or for a key, would wait for ages.

    in_virtual_time.py KERNEL COMMAND...
"""

import sys

from unbloat.guest import guest, program, qemu

kernel, *command = sys.argv[1:]
qemu.CLOCK_FOR_PROGRAMS = qemu.CLOCK
sys.exit(program.run(guest.prepare(kernel, lambda _: None), command))
