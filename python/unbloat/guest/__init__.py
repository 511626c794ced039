"""A stock kernel in virtual time: an emulated machine whose clock counts its instructions.

The machine (QEMU, one processor, no devices but a memory that both sides see) runs the testbed of this very
installation on an unmodified Linux. It is booted once, up to where it waits for a run, and its state is kept; each run
starts from that state. Nothing reaches the machine during a run, and its time passes with its instructions only: so a
run is a pure function of the scenario, the seed, the code and that state, however busy the host is.
"""
