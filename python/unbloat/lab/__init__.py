"""Tools of those who develop unbloat: packets of the simulator beside those of Linux."""
