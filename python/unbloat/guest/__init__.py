"""A stock kernel in virtual time: an emulated machine whose clock counts its instructions.

The machine (QEMU, one processor, no devices but a memory that both sides see) runs the testbed of this very
installation on an unmodified Linux. It boots once, up to where it waits for a run, and the cache stores its state; each
run starts from that state. Nothing reaches the machine during a run, and only its instructions advance its time. So a
run depends on the scenario, the seed, the code and that state, and not on how busy the computer is.
"""
