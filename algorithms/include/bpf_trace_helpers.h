/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where BPF_PROG was declared in Linux 5.6 and 5.7. */
#include "bpf/bpf_tracing.h"
