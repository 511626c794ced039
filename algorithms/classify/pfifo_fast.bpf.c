/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pfifo_fast: bands by the type of service, as in Linux's queue discipline of this name.
 *
 * The kernel derives a priority from the type of service (ip_tos2prio), and a band from the priority (prio2band in
 * sch_generic.c). The first of three bands takes low delay. The second takes packets without a type of service, for
 * reliability, or for low delay with throughput. The third takes throughput alone and low cost. Hardly any program sets
 * a type of service, so nearly all packets share the second band.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "classify.h"

/* Bands of the eight types of service of RFC 1349, two bits each, the first in the lowest: 1 1 2 2 0 0 1 1. */
#define BANDS 0x50a5

static __always_inline __u32 pfifo_fast_band(struct classify_flow *flow, const struct classify_packet *packet)
{
	__u32 service = packet->tos >> 2 & 7;

	return BANDS >> 2 * service & 3;
}

CLASSIFIER(pfifo_fast_band)

char _license[] SEC("license") = "Dual BSD/GPL";
