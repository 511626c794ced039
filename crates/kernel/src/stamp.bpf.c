/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notes when a packet comes to the queue of an emulated host, in the packet: how long it has waited is known when it
 * comes out. Tells also what the send buffer holds that a segment with data comes from.
 *
 * The time stands where IPv4 has the identification, which nothing in the testbed reads: there are no fragments. It has
 * 16 bits, and the loader says what they count. The device's frames begin with the IP header.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "unbloat/tcp_packet.h"

#define IDENTIFICATION_AT 4
#define CHECKSUM_AT 10

/* Packets that find room in the ring: more than come between two that leave. */
#define BUFFERS_BYTES (1 << 20)
/* The reader looks by itself. */
#define NO_WAKEUP 1

/* The time's unit is 2^shift ns; the loader sets it. */
const volatile __u32 shift = 16;

/* The send buffer of a segment with data when it comes to the queue. The reader is send_buffers.rs. */
struct send_buffer {
	__u64 seen_ns;
	__u32 wmem_queued;
	__u32 sndbuf;
	__u32 held; /* payload, bytes (write_seq - snd_una) */
	__u32 mss;
	__u32 cwnd;
	__u16 from_port;
	__u16 to_port;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BUFFERS_BYTES);
} unbloat_buffers SEC(".maps");

static __always_inline void tell_of_send_buffer(struct __sk_buff *skb, __u64 now)
{
	const struct tcp_sock *tp = skb->sk ? bpf_skc_to_tcp_sock(skb->sk) : NULL;
	struct tcp_packet packet;
	struct send_buffer *to;

	if (!tp || !tcp_packet_read(skb, 0, &packet) || !packet.payload)
		return;
	to = bpf_ringbuf_reserve(&unbloat_buffers, sizeof(*to), 0);
	if (!to)
		return;
	to->seen_ns = now;
	to->wmem_queued = tp->inet_conn.icsk_inet.sk.sk_wmem_queued;
	to->sndbuf = tp->inet_conn.icsk_inet.sk.sk_sndbuf;
	to->held = tp->write_seq - tp->snd_una;
	to->mss = tp->mss_cache;
	to->cwnd = tp->snd_cwnd;
	to->from_port = bpf_ntohs(packet.ends.from_port);
	to->to_port = bpf_ntohs(packet.ends.to_port);
	bpf_ringbuf_submit(to, NO_WAKEUP);
}

SEC("tc") int unbloat_stamp(struct __sk_buff *skb)
{
	__u64 ns = bpf_ktime_get_ns();
	__u16 before, now = bpf_htons(ns >> shift);

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_UNSPEC;
	tell_of_send_buffer(skb, ns);
	if (bpf_skb_load_bytes(skb, IDENTIFICATION_AT, &before, sizeof(before)))
		return TC_ACT_UNSPEC;
	/* First what depends on the old value. */
	bpf_l3_csum_replace(skb, CHECKSUM_AT, before, now, sizeof(now));
	bpf_skb_store_bytes(skb, IDENTIFICATION_AT, &now, sizeof(now), 0);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
