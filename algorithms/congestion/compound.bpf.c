/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compound TCP: Reno's window plus a second one, which grows fast while little is queued and shrinks when a queue
 * builds up.
 *
 * From Tan, Song, Zhang, Sridharan, "A Compound TCP Approach for High-speed and Long Distance Networks", INFOCOM 2006,
 * and draft-sridharan-tcpm-ctcp. The window is win = cwnd + dwnd, of which cwnd grows as Reno's, by 1 / win for each
 * segment acknowledged. Compound estimates the segments queued as diff = win (RTT - baseRTT) / RTT. Once a round trip,
 *
 *    diff < gamma:    dwnd += max(win^(3/4) / 8 - 1, 0)          else:  dwnd = max(dwnd - diff, 0)
 *
 * A loss halves cwnd and win, and dwnd is the rest. In slow start and after a timeout dwnd is 0.
 *
 * Departures and choices:
 *  - gamma follows the flow as in the draft, `tune_gamma`; the paper's gamma is fixed;
 *  - the kernel has one window, which is win: cwnd is win less dwnd, whatever else changed win;
 *  - the RTT of a round is its least, as in ports for Linux, and a round with no more than two samples says nothing.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "roots.h"
#include "round_rtt.h"

PARAM(u32, gamma, 30, 1, 10000, "packets", "more queued: the delay window shrinks");
PARAM(bool, tune_gamma, true, 0, 1, "", "gamma follows three quarters of what Reno's window had queued at losses");
PARAM(u32, gamma_min, 5, 1, 10000, "packets", "least gamma when it is tuned; gamma is the most");
PARAM(u32, gamma_gain, 512, 1, 1024, "/1024", "how fast gamma follows");
PARAM(u32, low_window, 38, 0, 1000000, "packets", "the delay window grows from this window on");

#define EIGHTHS 8U /* dwnd, diff and gamma are in 1/8 segment: alpha is 1/8 */
#define SHARE_BITS 10
#define LARGEST_ROOTED ((1U << 21) - 1) /* its cube fits 64 bits */

struct compound {
	struct round_rtt rtt;
	__u32 round_end;   /* sequence number */
	__u32 dwnd;	   /* 1/8 segment */
	__u32 dwnd_before; /* the last loss, 1/8 segment */
	__u32 gamma;	   /* as tuned, 1/8 segment */
	__u32 reno_queued; /* segments that Reno's window had queued in the last round, 1/8 segment */
};

static __always_inline void compound_new_round(struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);

	ca->round_end = tcp_sk(sk)->snd_nxt;
	round_rtt_clear(&ca->rtt);
}

/* Reno's part of the window, segments. */
static __always_inline __u32 compound_reno_part(const struct compound *ca, __u32 win)
{
	__u32 delay_part = ca->dwnd / EIGHTHS;

	return win > delay_part ? win - delay_part : 0;
}

/* A round trip's growth of dwnd, 1/8 segment: max(alpha win^k - 1, 0) with alpha = 1/8 and k = 3/4. */
static __always_inline __u32 compound_growth(__u32 win)
{
	__u64 w = min(max(win, 1U), LARGEST_ROOTED);
	__u32 power = square_root(square_root(w * w * w));

	return power > EIGHTHS ? power - EIGHTHS : 0;
}

/* The part of `window` segments that is queued at this RTT, 1/8 segment. */
static __always_inline __u32 compound_queued(__u32 window, __u32 rtt_us, __u32 base_us)
{
	return (__u64)window * EIGHTHS * (rtt_us - base_us) / rtt_us;
}

static __always_inline void compound_set_dwnd(struct tcp_sock *tp, struct compound *ca, __u32 dwnd)
{
	__u32 reno_part = compound_reno_part(ca, tp->snd_cwnd);

	ca->dwnd = dwnd;
	tp->snd_cwnd = max(reno_part + dwnd / EIGHTHS, 2U);
}

/* The end of a round trip. */
static __always_inline void compound_adjust(struct tcp_sock *tp, struct compound *ca)
{
	__u32 win = tp->snd_cwnd, rtt = ca->rtt.least_us, base = ca->rtt.base_us;
	__u32 queued = compound_queued(win, rtt, base);

	ca->reno_queued = compound_queued(compound_reno_part(ca, win), rtt, base);
	if (queued >= ca->gamma)
		compound_set_dwnd(tp, ca, ca->dwnd > queued ? ca->dwnd - queued : 0);
	else if (win >= low_window && win < tp->snd_cwnd_clamp)
		compound_set_dwnd(
			tp, ca,
			ca->dwnd + min((__u64)compound_growth(win), (__u64)(tp->snd_cwnd_clamp - win) * EIGHTHS));
}

/* Tunes gamma at a loss as in the draft: a moving average, within gamma_min and gamma. */
static __always_inline void compound_tune(struct compound *ca)
{
	__u64 heard = (__u64)ca->reno_queued * 3 / 4 * gamma_gain;
	__u64 kept = (__u64)ca->gamma * ((1U << SHARE_BITS) - gamma_gain);
	__u32 tuned = (heard + kept) >> SHARE_BITS;

	ca->gamma = min(max(tuned, gamma_min * EIGHTHS), gamma * EIGHTHS);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);

	*ca = (struct compound){.gamma = gamma * EIGHTHS};
	round_rtt_init(&ca->rtt);
	compound_new_round(sk);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct compound *ca = inet_csk_ca(sk);

	round_rtt_sample(&ca->rtt, sample);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		ca->dwnd = 0;
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
	if (!after(ack, ca->round_end))
		return;
	if (round_rtt_is_known(&ca->rtt))
		compound_adjust(tp, ca);
	compound_new_round(sk);
}

/* win halves, and so does Reno's part of it: dwnd is the rest. */
SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);
	__u32 win = tcp_sk(sk)->snd_cwnd;

	ca->dwnd_before = ca->dwnd;
	ca->dwnd = (win / 2 - compound_reno_part(ca, win) / 2) * EIGHTHS;
	if (tune_gamma)
		compound_tune(ca);
	return max(win / 2, 2U);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	struct compound *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		ca->dwnd = 0;
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct compound *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_CWND_RESTART)
		ca->dwnd = 0;
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);

	ca->dwnd = ca->dwnd_before;
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops compound = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "compound",
};

char _license[] SEC("license") = "Dual BSD/GPL";
