/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * single: one queue for all packets, first in, first out.
 *
 * The baseline for other classifiers: a host whose packets all have the same type of service behaves like this.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "classify.h"

static __always_inline __u32 single_band(struct classify_flow *flow, const struct classify_packet *packet)
{
	return 0;
}

CLASSIFIER(single_band)

char _license[] SEC("license") = "Dual BSD/GPL";
