//! Congestion controls in the running kernel: loading, pins, what is loaded, what the machine can do.
