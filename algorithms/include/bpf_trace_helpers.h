/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BPF_PROG, which Linux 5.6 and 5.7 declared in a header of this name. */
#include "bpf/bpf_tracing.h"
