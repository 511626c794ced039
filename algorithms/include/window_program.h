/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that run a window controller in a kernel, at the ingress and egress of the device through which
 * acknowledgements leave (clsact). The egress program lowers the window of each acknowledgement to the controller's
 * answer. The ingress program measures the segments that arrive, and when.
 *
 * The programs measure RTTs by timestamps (RFC 7323), from when one of ours first left until the first full segment
 * that echoes it. That takes no socket, so it works alike on a router. RTTs need timestamps. A socket's
 * own estimate cannot replace them: it is the time that a window of the stack's takes, which exceeds the window
 * announced. The bytes that arrived are those that the application has read, or on a router those acknowledged. The
 * window scale is the socket's, or the one of the handshake that passed. If neither is known the programs leave the
 * segment alone.
 *
 * A flow may be on two processors at once, which happens on no host and rarely on a router. Then a segment may find the
 * other's numbers half written, and the right edge may stay where it was.
 */
#ifndef UNBLOAT_WINDOW_PROGRAM_H
#define UNBLOAT_WINDOW_PROGRAM_H

#include "receiver_round.h"
#include "unbloat/tcp_packet.h"
#ifdef UNBLOAT_RECORD
#include "unbloat/record_window.h"
#else
#define unbloat_window_recorded(ends, flow, ack) unbloat_window((flow), (ack))
#endif

#define UNBLOAT_FLOWS 16384
#define SENT_TIMESTAMPS 32
#define SHOWN_RTT_WEIGHT 128 /* /1024, as TCP's own smoothed RTT */
#define LEAST_MSS 536	     /* RFC 9293, section 3.7.1: small segments say nothing about full ones */

/* The connections whose windows the programs lower; the loader sets it. */
struct unbloat_scope {
	__u32 net[4]; /* the network of the other end's address; any if the mask is zero */
	__u32 mask[4];
	__u32 link_header; /* bytes of a frame before IP */
	__u16 port;	   /* the other end's port, in network order; 0 = any */
	__u8 forwards;	   /* also of connections without a socket here */
	__u8 in_group;	   /* only of sockets of the group in unbloat_group */
};
static const volatile struct unbloat_scope unbloat_scope = {};

/* A timestamp of ours, and the time when it first left, us. */
struct sent_timestamp {
	__u32 tsval;
	__u32 at_us;
};

/* A connection. `status` reads it too (crates/kernel/src/window/flows.rs). */
struct shown_flow {
	struct window_flow flow;
	struct receiver_round round; /* for `status` */
	__u64 seen_us;
	__u32 offered;	  /* by the stack, bytes */
	__u32 shown;	  /* instead, bytes */
	__u32 right_edge; /* end of the windows shown up to now */
	__u32 read_to;	  /* position of the reading in the stream at the latest acknowledgement */
	__u32 rtt_us;	  /* the latest, since then */
	__u32 last_tsecr;
	__u8 scale;
	__u8 has_scale;	  /* both ends have agreed on it */
	__u8 has_edge;	  /* an acknowledgement, or our answer to a SYN, has passed */
	__u8 has_read_to; /* an acknowledgement has passed */
	struct sent_timestamp sent[SENT_TIMESTAMPS];
};

/* Connections by both ends, in the order of an acknowledgement. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, UNBLOAT_FLOWS);
	__type(key, struct tcp_ends);
	__type(value, struct shown_flow);
} unbloat_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} unbloat_group SEC(".maps");

static const struct shown_flow unbloat_new_flow = {};

/* The name is in parentheses because a recording has a macro of this name. */
static __always_inline __u64 unbloat_now_us(void)
{
	return (bpf_ktime_get_ns)() / 1000;
}

/* Values of a socket of this host; a forwarded connection has none. */
struct unbloat_socket {
	__u32 copied_seq;
	__u8 scale;
	bool is_here;
	bool is_asked; /* not yet, but it has been asked for */
};

static __always_inline void unbloat_socket_read(void *sk, struct unbloat_socket *socket)
{
	const struct tcp_sock *tp = sk ? bpf_skc_to_tcp_sock(sk) : NULL;

	__builtin_memset(socket, 0, sizeof(*socket));
	if (tp) {
		socket->copied_seq = tp->copied_seq;
		socket->scale = BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale);
		socket->is_here = true;
	} else if (sk) {
		socket->is_asked = bpf_skc_to_tcp_request_sock(sk) != NULL;
	}
}

static __always_inline bool unbloat_is_meant(struct __sk_buff *skb, const struct tcp_packet *packet,
					     const struct unbloat_socket *socket)
{
	__u32 other = 0;

	if (!socket->is_here && !socket->is_asked && !unbloat_scope.forwards)
		return false;
	if (unbloat_scope.port && packet->ends.to_port != unbloat_scope.port)
		return false;
	for (int word = 0; word < 4; word++)
		other |= (packet->ends.to[word] ^ unbloat_scope.net[word]) & unbloat_scope.mask[word];
	if (other)
		return false;
	return !unbloat_scope.in_group || bpf_skb_under_cgroup(skb, &unbloat_group, 0) == 1;
}

static __always_inline struct shown_flow *unbloat_begin_flow(const struct tcp_ends *ends)
{
	bpf_map_update_elem(&unbloat_flows, ends, &unbloat_new_flow, BPF_ANY);
	return bpf_map_lookup_elem(&unbloat_flows, ends);
}

/*
 * Our half of a handshake leaves. An answer shows a scale only if the question did, and a window without one (RFC 7323,
 * section 2.2).
 */
static __always_inline void unbloat_syn_leaves(const struct tcp_packet *packet, const struct tcp_options *options)
{
	struct shown_flow *flow = unbloat_begin_flow(&packet->ends);

	if (!flow)
		return;
	flow->scale = options->scale;
	if (packet->flags & ACK_FLAG) {
		flow->has_scale = 1;
		flow->has_edge = 1;
		flow->right_edge = packet->ack + packet->window;
	}
}

/*
 * Remembers when a timestamp left first; one that may still be echoed keeps its place. Before the first echo any may
 * look old, also that of the tick that still lasts.
 */
static __always_inline void unbloat_timestamp_leaves(struct shown_flow *flow, __u32 tsval, __u32 now_us)
{
	struct sent_timestamp *sent = &flow->sent[tsval % SENT_TIMESTAMPS];
	bool is_empty = !sent->at_us && !sent->tsval;

	if (is_empty || (sent->tsval != tsval && before(sent->tsval, flow->last_tsecr))) {
		sent->tsval = tsval;
		sent->at_us = now_us;
	}
}

/* Bytes that have come since the acknowledgement before. */
static __always_inline __u32 unbloat_read(struct shown_flow *flow, __u32 read_to)
{
	__s32 read = flow->has_read_to ? read_to - flow->read_to : 0;

	flow->read_to = read_to;
	flow->has_read_to = 1;
	return read > 0 ? read : 0;
}

/* The latest RTT since the acknowledgement before; 0 without one. */
static __always_inline __u32 unbloat_rtt(struct shown_flow *flow)
{
	__u32 rtt_us = flow->rtt_us;

	flow->rtt_us = 0;
	return rtt_us;
}

/* The window field to show in place of the packet's, if `most` bytes are to be shown at most. */
static __always_inline __u16 unbloat_lowered(struct shown_flow *flow, const struct tcp_packet *packet, __u8 scale,
					     __u32 most)
{
	__u32 offered = (__u32)packet->window << scale;
	__s32 left = flow->right_edge - packet->ack;
	__u32 shown = most ? min(most, offered) : offered;

	/* The window shown before is not known, or no window reaches that far. */
	if (!flow->has_edge || left > MOST_WINDOW || left < -MOST_WINDOW) {
		flow->has_edge = 1;
		flow->right_edge = packet->ack + offered;
		left = offered;
	}
	shown = max(shown, (__u32)max(left, 0));
	__u32 field = min((__u32)packet->window, (shown + (1 << scale) - 1) >> scale);

	flow->offered = offered;
	flow->shown = field << scale;
	if (before(flow->right_edge, packet->ack + flow->shown))
		flow->right_edge = packet->ack + flow->shown;
	return field;
}

static __always_inline void unbloat_ack_leaves(struct __sk_buff *skb, const struct tcp_packet *packet,
					       const struct tcp_options *options, const struct unbloat_socket *socket)
{
	struct shown_flow *flow = bpf_map_lookup_elem(&unbloat_flows, &packet->ends);

	if (!flow && socket->is_here)
		flow = unbloat_begin_flow(&packet->ends);
	if (!flow || !(socket->is_here || flow->has_scale))
		return;
	__u8 scale = socket->is_here ? socket->scale : flow->scale;
	struct window_ack ack = {
		.now_us = unbloat_now_us(),
		.copied = unbloat_read(flow, socket->is_here ? socket->copied_seq : packet->ack),
		.rtt_us = unbloat_rtt(flow),
		.has_hole = options->has_sack && before(packet->ack, options->sack_start),
		.no_rtts = !options->has_timestamps,
	};

	if (options->has_timestamps)
		unbloat_timestamp_leaves(flow, options->tsval, ack.now_us);
	if (ack.rtt_us)
		receiver_round_rtt(&flow->round, ack.rtt_us, SHOWN_RTT_WEIGHT);
	receiver_round_ends(&flow->round, &ack);
	flow->seen_us = ack.now_us;

	/* Before the first data segment arrives, the MSS is unknown and the window is not limited. */
	__u32 most = flow->flow.mss ? unbloat_window_recorded(&packet->ends, &flow->flow, &ack) : 0;
	__u16 window = unbloat_lowered(flow, packet, min(scale, MOST_SCALE), most);

	if (window == packet->window)
		return;
	__u16 from = bpf_htons(packet->window), to = bpf_htons(window);

	if (!bpf_l4_csum_replace(skb, packet->at + TCP_CHECKSUM_AT, from, to, sizeof(to)))
		bpf_skb_store_bytes(skb, packet->at + TCP_WINDOW_AT, &to, sizeof(to), 0);
}

/* Data, of a flow whose acknowledgements pass here. */
static __always_inline void unbloat_data_comes(struct shown_flow *flow, const struct tcp_packet *packet,
					       const struct tcp_options *options)
{
	struct sent_timestamp *sent = &flow->sent[options->tsecr % SENT_TIMESTAMPS];

	flow->flow.mss = max(flow->flow.mss, max(packet->segment, LEAST_MSS));
	if (!options->has_timestamps || options->tsecr == flow->last_tsecr)
		return;
	flow->last_tsecr = options->tsecr;
	/* A segment that is not full may have waited at its sender. */
	if (packet->segment >= flow->flow.mss && sent->tsval == options->tsecr)
		flow->rtt_us = max((__u32)unbloat_now_us() - sent->at_us, 1);
}

SEC("tc") int unbloat_egress(struct __sk_buff *skb)
{
	struct tcp_packet packet;
	struct tcp_options options;
	struct unbloat_socket socket;

	unbloat_socket_read(skb->sk, &socket);
	if (!tcp_packet_read(skb, unbloat_scope.link_header, &packet) || packet.flags & RST_FLAG ||
	    !unbloat_is_meant(skb, &packet, &socket))
		return TC_ACT_UNSPEC;
	tcp_options_read(skb, &packet, &options);
	if (packet.flags & SYN_FLAG)
		unbloat_syn_leaves(&packet, &options);
	else if (packet.flags & ACK_FLAG)
		unbloat_ack_leaves(skb, &packet, &options, &socket);
	return TC_ACT_UNSPEC;
}

SEC("tc") int unbloat_ingress(struct __sk_buff *skb)
{
	struct tcp_packet packet;
	struct tcp_options options;

	if (!tcp_packet_read(skb, unbloat_scope.link_header, &packet) || packet.flags & RST_FLAG ||
	    !(packet.flags & SYN_FLAG || packet.payload))
		return TC_ACT_UNSPEC;
	struct tcp_ends ends = {.from_port = packet.ends.to_port, .to_port = packet.ends.from_port};

	__builtin_memcpy(ends.from, packet.ends.to, sizeof(ends.from));
	__builtin_memcpy(ends.to, packet.ends.from, sizeof(ends.to));
	struct shown_flow *flow = bpf_map_lookup_elem(&unbloat_flows, &ends);

	if (!flow)
		return TC_ACT_UNSPEC;
	tcp_options_read(skb, &packet, &options);
	if (!(packet.flags & SYN_FLAG)) {
		unbloat_data_comes(flow, &packet, &options);
	} else if (packet.flags & ACK_FLAG && !flow->has_scale) {
		flow->scale = options.has_scale ? flow->scale : 0;
		flow->has_scale = 1;
	}
	return TC_ACT_UNSPEC;
}

#endif
