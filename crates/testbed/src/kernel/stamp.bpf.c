/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notes when a packet comes to the queue of an emulated host, in the packet: how long it has waited is known when it
 * comes out.
 *
 * The time stands where IPv4 has the identification, which nothing in the testbed reads: there are no fragments. It has
 * 16 bits, and the loader says what they count. The device's frames begin with the IP header.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "unbloat/tcp_packet.h"

#define IDENTIFICATION_AT 4
#define CHECKSUM_AT 10

static long (*const bpf_l3_csum_replace)(void *skb, __u32 offset, __u64 from, __u64 to, __u64 size) = (void *)10;

/* The time's unit is 2^shift ns; the loader sets it. */
const volatile __u32 shift = 16;

SEC("tc") int unbloat_stamp(struct __sk_buff *skb)
{
	__u16 before, now = bpf_htons(bpf_ktime_get_ns() >> shift);

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_UNSPEC;
	if (bpf_skb_load_bytes(skb, IDENTIFICATION_AT, &before, sizeof(before)))
		return TC_ACT_UNSPEC;
	/* First what depends on the old value. */
	bpf_l3_csum_replace(skb, CHECKSUM_AT, before, now, sizeof(now));
	bpf_skb_store_bytes(skb, IDENTIFICATION_AT, &now, sizeof(now), 0);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
