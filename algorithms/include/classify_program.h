/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Program that runs a classifier in a kernel, at the egress of a device (clsact). It gives each packet a priority
 * before the packet gets to the device's queue discipline, prio or htb. The priority names a class there.
 *
 * The classifier sees the send buffer of the packet's own socket. A packet of several segments (GSO) counts once.
 *
 * The waiting time of packets in the discipline is known when they leave it. The program writes a packet's time of
 * arrival into skb->tstamp, and a program at the tracepoint qdisc_dequeue reads it. No discipline in question reads
 * skb->tstamp; TCP has set it to when the packet was to leave TCP. `unbloat load` attaches the second program. Without
 * it the first writes no time.
 */
#ifndef UNBLOAT_CLASSIFY_PROGRAM_H
#define UNBLOAT_CLASSIFY_PROGRAM_H

#include "unbloat/tcp_packet.h"

#define IPPROTO_UDP 17
#define MOST_BANDS 16
/* Packets that a driver gets at once (TCQ_F_ONETXQUEUE, `dev_tx_weight`); further ones are not timed. */
#define MOST_AT_ONCE 64
#define SKB_TSTAMP_MONOTONIC 1

#define TOS_BITS 0xfc

/* Where packets go; the loader sets it. */
struct unbloat_scope {
	__u32 link_header; /* bytes of a frame before IP */
	__u32 handle;	   /* handle of the queue discipline, whose classes are handle:1 and so on */
	__u32 bands;
	__u32 device;	    /* number of the device whose packets are timed; 0 = none */
	__u32 of_namespace; /* number of the device's network namespace */
};
static const volatile struct unbloat_scope unbloat_scope = {.bands = 2};

/* Members that vmlinux.h does not have, because no other program here needs them. */
struct sock___host {
	struct {
		struct {
			int counter;
		} refs;
	} sk_wmem_alloc;
} __attribute__((preserve_access_index));

struct net___host {
	struct {
		unsigned int inum;
	} ns;
} __attribute__((preserve_access_index));

struct net_device___host {
	int ifindex;
	struct {
		struct net___host *net;
	} nd_net;
} __attribute__((preserve_access_index));

struct sk_buff___host {
	struct sk_buff___host *next;
	struct net_device___host *dev;
	__u64 tstamp;
	unsigned int truesize;
	__u32 priority;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *skb) __ksym __weak;

#define UNBLOAT_FLOWS 16384

/* A connection. `status` reads it too (crates/kernel/src/classifier/flows.rs). */
struct classified_flow {
	struct classify_flow flow;
	__u64 seen_ns;
	__u32 wmem_queued;
	__u32 sndbuf;
	__u32 band;
	__u32 unused;
};

/* Counts of a band. */
struct classified_band {
	__u64 packets;
	__u64 bytes;
	__u64 dropped; /* packets, by the classifier */
	__u64 timed;   /* packets that have left the discipline */
	__u64 waited_ns;
	__u64 longest_ns;
};

/* Connections by both ends, in the order of a segment. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, UNBLOAT_FLOWS);
	__type(key, struct tcp_ends);
	__type(value, struct classified_flow);
} unbloat_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MOST_BANDS);
	__type(key, __u32);
	__type(value, struct classified_band);
} unbloat_bands SEC(".maps");

static const struct classified_flow unbloat_new_flow = {};

/* The protocol in a packet's IP header. */
static __always_inline __u32 unbloat_protocol(struct __sk_buff *skb, __u32 *tos)
{
	__u32 at = unbloat_scope.link_header;
	struct ipv4_header ip;
	struct ipv6_header ip6;

	if (skb->protocol == bpf_htons(ETH_P_IP) && !bpf_skb_load_bytes(skb, at, &ip, sizeof(ip))) {
		*tos = ip.tos & TOS_BITS;
		return ip.protocol;
	}
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && !bpf_skb_load_bytes(skb, at, &ip6, sizeof(ip6))) {
		*tos = bpf_ntohl(ip6.version) >> 20 & TOS_BITS;
		return ip6.next;
	}
	return 0;
}

/*
 * Memory of the connection's earlier packets in the host. sk_wmem_alloc is one more than that of all packets, this one
 * included.
 */
static __always_inline __u32 unbloat_in_host(struct __sk_buff *skb, const struct tcp_sock *tp)
{
	const struct sock___host *sk = (const void *)tp;
	const struct sk_buff___host *kernels;
	int others = sk->sk_wmem_alloc.refs.counter - 1;

	if (!bpf_ksym_exists(bpf_cast_to_kern_ctx))
		return others > (int)skb->len ? others - skb->len : 0;
	kernels = bpf_cast_to_kern_ctx(skb);
	others -= kernels->truesize;
	return others > 0 ? others : 0;
}

/* The connection of a segment with data, which is stored from its first segment on; NULL if the map is full. */
static __always_inline struct classified_flow *unbloat_flow(const struct tcp_packet *tcp)
{
	struct classified_flow *known = bpf_map_lookup_elem(&unbloat_flows, &tcp->ends);

	if (known)
		return known;
	bpf_map_update_elem(&unbloat_flows, &tcp->ends, &unbloat_new_flow, BPF_ANY);
	return bpf_map_lookup_elem(&unbloat_flows, &tcp->ends);
}

/* Reads the send buffer of the packet's own socket; a forwarded packet has none. */
static __always_inline void unbloat_socket_read(struct __sk_buff *skb, struct classify_packet *packet)
{
	const struct tcp_sock *tp = skb->sk ? bpf_skc_to_tcp_sock(skb->sk) : NULL;

	if (!tp)
		return;
	packet->wmem_queued = tp->inet_conn.icsk_inet.sk.sk_wmem_queued;
	packet->sndbuf = tp->inet_conn.icsk_inet.sk.sk_sndbuf;
	packet->held = tp->write_seq - tp->snd_una;
	packet->unsent = tp->write_seq - tp->snd_nxt;
	packet->in_host = unbloat_in_host(skb, tp);
}

static __always_inline __u32 unbloat_band_of_data(const struct tcp_packet *tcp, const struct classify_packet *packet)
{
	struct classify_flow none = {};
	struct classified_flow *known = unbloat_flow(tcp);

	if (!known)
		return unbloat_classify(&none, packet);

	__u32 band = unbloat_classify(&known->flow, packet);

	known->band = band & ~CLASSIFY_DROP;
	known->seen_ns = bpf_ktime_get_ns();
	known->wmem_queued = packet->wmem_queued;
	known->sndbuf = packet->sndbuf;
	return band;
}

SEC("tc") int unbloat_egress(struct __sk_buff *skb)
{
	struct classify_packet packet = {.kind = PACKET_OTHER};
	struct classify_flow none = {};
	struct tcp_packet tcp;
	__u32 protocol = unbloat_protocol(skb, &packet.tos), band;
	bool drops;

	if (tcp_packet_read(skb, unbloat_scope.link_header, &tcp)) {
		packet.kind = tcp.payload ? PACKET_TCP_DATA : PACKET_TCP_CONTROL;
		unbloat_socket_read(skb, &packet);
	} else if (protocol == IPPROTO_UDP) {
		packet.kind = PACKET_UDP;
	}
	if (packet.kind == PACKET_TCP_DATA)
		band = unbloat_band_of_data(&tcp, &packet);
	else
		band = unbloat_classify(&none, &packet);
	drops = band & CLASSIFY_DROP && packet.kind == PACKET_TCP_DATA && packet.sndbuf;
	band &= ~CLASSIFY_DROP;
	if (band >= unbloat_scope.bands)
		band = unbloat_scope.bands - 1;

	struct classified_band *counted = bpf_map_lookup_elem(&unbloat_bands, &band);

	if (counted && drops) {
		counted->dropped += 1;
	} else if (counted) {
		counted->packets += 1;
		counted->bytes += skb->len;
	}
	if (drops)
		return TC_ACT_SHOT;
	if (unbloat_scope.device)
		bpf_skb_set_tstamp(skb, bpf_ktime_get_ns(), SKB_TSTAMP_MONOTONIC);
	skb->priority = unbloat_scope.handle | (band + 1);
	return TC_ACT_UNSPEC;
}

/* Counts a packet that has left the discipline. A packet without a time is not an IP packet. */
static __always_inline void unbloat_left(const struct sk_buff___host *skb, __u64 now)
{
	__u32 band = skb->priority - unbloat_scope.handle - 1;
	__u64 came = skb->tstamp;
	struct classified_band *counted = bpf_map_lookup_elem(&unbloat_bands, &band);

	if (!counted || band >= unbloat_scope.bands || !came || came > now)
		return;
	counted->timed += 1;
	counted->waited_ns += now - came;
	if (now - came > counted->longest_ns)
		counted->longest_ns = now - came;
}

/* The arguments are the discipline, the transmit queue, the number of packets that have left, and the first of them. */
SEC("tp_btf/qdisc_dequeue") int unbloat_dequeue(__u64 *arguments)
{
	const struct sk_buff___host *skb = (void *)arguments[3];
	__u64 now = bpf_ktime_get_ns();

	if (!skb || skb->dev->ifindex != unbloat_scope.device ||
	    skb->dev->nd_net.net->ns.inum != unbloat_scope.of_namespace)
		return 0;
	for (int number = 0; number < MOST_AT_ONCE && skb; number++, skb = skb->next)
		unbloat_left(skb, now);
	return 0;
}

#endif
