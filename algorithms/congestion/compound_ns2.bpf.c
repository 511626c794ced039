/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compound TCP of ns-2.35, a port for Linux from 2006: papers of that time simulated it as C-TCP.
 *
 * From Tan, Song, Zhang, Sridharan, "A Compound TCP Approach for High-speed and Long Distance Networks", INFOCOM 2006,
 * by way of ns-2.35's tcp_compound.c and tcp-linux.cc. As in compound.bpf.c the window is Reno's part and dwnd. The
 * segments queued are estimated as diff = win (RTT - baseRTT) / RTT of the last round trip's data. Once a round trip,
 *
 *    diff < gamma:    dwnd += max(win^(3/4) / 8 - 1, 0)          else:  dwnd = max(dwnd - diff, 0)
 *
 * Departures of the port from the paper:
 *  - Reno's part has its own slow start: it doubles until it alone is above the threshold, with dwnd on top of it;
 *  - dwnd grows and shrinks in slow start too, and from any window on;
 *  - a loss leaves a quarter of the window (min_cwnd), from which slow start returns to half of it;
 *  - an ACK counts as one segment whatever it covers; diff is in half segments, roots are whole numbers.
 * Departure from ns-2: after a pause compound_ns2 keeps its RTTs and the window, where the port starts with new ones.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "roots.h"
#include "round_rtt.h"

PARAM(u32, gamma, 30, 1, 10000, "packets", "more queued: the delay window shrinks");

#define LARGEST_ROOTED ((1U << 21) - 1) /* its cube fits 64 bits */

struct compound_ns2 {
	struct round_rtt rtt;
	__u32 round_begin; /* sequence numbers around the data sent in the last round trip */
	__u32 round_end;
	__u32 reno; /* Reno's part of the window, segments */
	__u32 dwnd; /* the rest */
};

/* Adapts both parts to a window that something else has lowered: it took from Reno's part, or from both. */
static __always_inline void compound_ns2_take_window(struct compound_ns2 *ca, __u32 win)
{
	if (ca->reno + ca->dwnd <= win)
		return;
	if (ca->reno > win || ca->dwnd > win) {
		ca->reno = win;
		ca->dwnd = 0;
	} else {
		ca->reno = win - ca->dwnd;
	}
}

static __always_inline void compound_ns2_grow_reno(struct tcp_sock *tp, struct compound_ns2 *ca)
{
	if (ca->reno <= tp->snd_ssthresh) {
		ca->reno++;
	} else if (++tp->snd_cwnd_cnt >= tp->snd_cwnd) {
		tp->snd_cwnd_cnt = 0;
		ca->reno++;
	}
}

/* A round trip's growth of dwnd after `win` segments. */
static __always_inline __u32 compound_ns2_growth(__u32 win)
{
	__u64 w = min(max(win, 1U), LARGEST_ROOTED);
	__u32 power = square_root(square_root(w * w * w)) >> 3;

	return power > 1 ? power - 1 : 0;
}

static __always_inline void compound_ns2_adjust(struct compound_ns2 *ca, __u32 win)
{
	__u32 halves = 2 * win - (__u64)2 * win * ca->rtt.base_us / ca->rtt.least_us;

	if (halves < 2 * gamma)
		ca->dwnd += compound_ns2_growth(win);
	else
		ca->dwnd = 2 * ca->dwnd > halves ? (2 * ca->dwnd - halves) / 2 : 0;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct compound_ns2 *ca = inet_csk_ca(sk);

	*ca = (struct compound_ns2){.reno = tp->snd_cwnd, .round_begin = tp->snd_una, .round_end = tp->snd_nxt};
	round_rtt_init(&ca->rtt);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct compound_ns2 *ca = inet_csk_ca(sk);

	round_rtt_sample(&ca->rtt, sample);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound_ns2 *ca = inet_csk_ca(sk);

	compound_ns2_take_window(ca, tp->snd_cwnd);
	if (!tcp_is_cwnd_limited(sk))
		return;
	compound_ns2_grow_reno(tp, ca);
	if (after(ack, ca->round_end)) {
		if (round_rtt_is_known(&ca->rtt))
			compound_ns2_adjust(ca, (ca->round_end - ca->round_begin) / tp->mss_cache);
		ca->round_begin = ca->round_end;
		ca->round_end = tp->snd_nxt;
		round_rtt_clear(&ca->rtt);
	}
	tp->snd_cwnd = min(ca->reno + ca->dwnd, tp->snd_cwnd_clamp);
}

/*
 * A stack that halves its rate as ns-2's does goes down to the quarter by itself. In others at most a quarter is in
 * flight when a loss is repaired.
 */
SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound_ns2 *ca = inet_csk_ca(sk);
	__u8 old_state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);

	if (new_state != TCP_CA_Open)
		return;
	if ((old_state == TCP_CA_Recovery || old_state == TCP_CA_CWR) && !SIM(tp, rate_halving))
		tp->snd_cwnd = min(tp->snd_cwnd, max(tp->snd_ssthresh / 2, 2U));
	ca->round_end = tp->snd_nxt;
	round_rtt_clear(&ca->rtt);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops compound_ns2 = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.set_state = (void *)set_state,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "compound_ns2",
};

char _license[] SEC("license") = "Dual BSD/GPL";
