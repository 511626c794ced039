/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dtpa_auto: DTPA that learns from the mean rate of all nodes how much each is to send.
 *
 * DTPA (dtpa.bpf.c) makes every node of a sensor network send c segments a second. It leaves open how to find c, which
 * depends on tree and radio. Here c is a headroom above the mean rate of the flows that come up the tree, over the last
 * minute. A node that would send more than c a second waits, before each window,
 *
 *    TXP = max(0, window / c - RTT)
 *
 * A node that gets less sends as Reno does. The slow nodes can take the share that the fast ones leave. So the mean
 * rises, and c with it, until nodes get no more than 1/(1 + headroom) of c.
 *
 * From H.-S. Im's dissertation (see dtpa.bpf.c), which leaves "proper setting of c" to future work; this answer is the
 * project's own.
 *
 * The border router counts, because every packet passes it. It counts packets with data, flow by flow, in buckets of
 * five seconds. Each packet down carries the mean of twelve full buckets (`announces_rate` of a mesh). A flow counts
 * from its first packet on, and to its last if it has been silent for half a minute. The border router leaves out a
 * time in which packets go up and none comes down. Nodes have only their timeouts then, and their sending says nothing
 * about shares. Nodes use the latest mean that they received.
 *
 * Where the border router announces nothing, a node uses the rate of the flows that it forwards. That is not enough.
 * Such nodes send as fast as those behind them. A node that forwards nothing does not know the others. It sends as
 * Reno does, even next to the border router (table `auto` of papers/dtpa/choices.toml).
 *
 * Cost: no message of its own, but six bytes in each packet down; most of these packets are acknowledgements. A node
 * stores the mean and its period. The border router stores two bytes for each bucket, and four for each node: its short
 * address, and the buckets of its first packet and its last.
 *
 * Convergence: the larger c is, the smaller the share of it that nodes get. So there is one c of which they get 1/(1 +
 * headroom), and c moves towards it from both sides. From above, where it starts, c arrives as soon as a minute has
 * been counted. From below it rises by about twice the headroom in a minute. A node that joins learns c from its first
 * acknowledgement.
 *
 * Limits:
 *  - dtpa_auto equalises whatever nodes want to send: a node with more to send than others waits even while the channel
 *    is idle;
 *  - nobody waits in the first minute, or after a minute in which nothing came up, because the mean is unknown;
 *  - when all rates fall together though some packets are answered, c falls with them, though not below `least`, and
 *    needs minutes to come back. The mean does not show whether the others are slow because they have to be;
 *  - nodes do not count while nothing arrives from them: only the wait of the others helps them;
 *  - a kernel's socket cannot know the rates of others, so dtpa_auto works in the simulator only.
 *
 * Departures from dtpa.bpf.c:
 *  - dtpa_auto does not need p, because it knows the window that Reno has come to with p. So nodes wait before their
 *    first loss too, and no count of a lifetime makes them slow to learn;
 *  - the period follows every acknowledgement, not only those with a sample of the RTT. After a timeout the window is
 *    one segment, and the wait is the one for one segment;
 *  - a window that waits does not need to grow, because the node sends c whatever the window is. The wait has no bound
 *    of its own.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"
#include "dtpa_period.h"
#include "waiting_reno.h"

PARAM(u32, headroom, 128, 0, 10240, "/1024", "how far above the mean rate of all flows a node's may be");
PARAM(u32, least, 100, 1, 1000000000, "", "thousandths of a segment a second, which each node may always send");

SIMULATED_ONLY("no kernel tells a sender what the other nodes of its mesh send");

struct dtpa_auto {
	__u32 acked_to; /* sequence number */
};

/* Segments sent in a turn; the receiver's window may be less than cwnd. */
static __always_inline __u32 dtpa_auto_window(const struct tcp_sock *tp)
{
	return max(min(tp->snd_cwnd, tp->snd_wnd / tp->mss_cache), 1U);
}

static __always_inline __u32 dtpa_auto_period_us(const struct tcp_sock *tp)
{
	/* of the flows that come up the tree, thousandths of a segment a second; 0 while it is not known */
	__u64 rate = SIM(tp, mean_flow_rate);
	__u64 c = max(rate + rate * headroom / 1024, (__u64)least);

	return rate ? dtpa_window_period_us(dtpa_auto_window(tp), tp->srtt_us >> 3, min(c, (__u64)~0U)) : 0;
}

static __always_inline void dtpa_auto_init(struct sock *sk)
{
	*(struct dtpa_auto *)inet_csk_ca(sk) = (struct dtpa_auto){.acked_to = tcp_sk(sk)->snd_una};
	waiting_reno_init(sk);
}

static __always_inline void dtpa_auto_cong_control(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dtpa_auto *ca = inet_csk_ca(sk);

	waiting_reno_acked(sk, rs, &ca->acked_to, tcp_is_cwnd_limited(sk));
	waiting_reno_pace(sk, dtpa_auto_window(tp), dtpa_auto_period_us(tp));
}

INIT_PROGRAM(dtpa_auto_init)

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	dtpa_auto_cong_control(sk, rs);
}

SET_STATE_PROGRAM(waiting_reno_set_state)
SSTHRESH_PROGRAM(tcp_reno_ssthresh)
UNDO_CWND_PROGRAM(tcp_reno_undo_cwnd)

/* A burst of two segments is more than a sensor's share. */
SEC("struct_ops")
__u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops dtpa_auto = {
	.init = (void *)init,
	.cong_control = (void *)cong_control,
	.set_state = (void *)set_state,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)min_tso_segs,
	.name = "dtpa_auto",
};

char _license[] SEC("license") = "Dual BSD/GPL";
