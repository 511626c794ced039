/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reno: one segment more each round trip, half the window at a loss.
 *
 * From RFC 5681 (slow start, congestion avoidance, reaction to loss), in the form that Linux gives it: the window
 * counts segments, growth follows the segments that each ACK covers (RFC 3465 without its limit), and only a window
 * that is in use grows.
 *
 * Departures from the RFC, all of them Linux's:
 *  - the threshold after a loss is half the window, not half the flight;
 *  - one ACK of a jump may grow the window by more than two segments in slow start;
 *  - a window that proves to have been halved without cause is restored.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"
#include "slow_start.h"

static __always_inline void reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!reaches_congestion_avoidance(sk, &acked))
		return;
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

static __always_inline __u32 reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

static __always_inline __u32 reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

#ifndef RENO_AS_BASE
CONG_AVOID_PROGRAM(reno_cong_avoid)
SSTHRESH_PROGRAM(reno_ssthresh)
UNDO_CWND_PROGRAM(reno_undo_cwnd)

SEC(".struct_ops.link")
struct tcp_congestion_ops reno = {
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("reno"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
#endif
