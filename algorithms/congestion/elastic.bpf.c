/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Elastic-TCP: grows by the root of the window, and faster the farther the RTT is below the largest seen.
 *
 * From Alrshah, Al-Moqri, Othman, "Elastic-TCP: Flexible Congestion Control Algorithm to Adapt for High-BDP Networks",
 * IEEE Systems Journal, 2019. A long queue brings RTT_cur close to RTT_max; until then the path has room:
 *
 *    WWF = sqrt(cwnd RTT_max / RTT_cur)     cwnd += WWF / cwnd for each segment acknowledged: WWF segments a round trip
 *
 * Departures and choices, where the paper is silent:
 *  - the paper leaves the reaction to a loss to the stack below: `beta`, half the window as in Reno. Its printed
 *    numbers need seven eighths (896/1024). The default stays at half, because with seven eighths Elastic-TCP yields
 *    even less;
 *  - RTT_max is "over this connection" in the text: `horizon = 0`, which the printed numbers need. Ports of the
 *    algorithm forget it at a timeout, and so does the default. After a change of route an RTT_max for life would let
 *    the window grow at a rate that the new path never justified;
 *  - the pseudocode looks at the RTT in congestion avoidance only: `sample_slow_start = false`. By default every sample
 *    counts, because the overshoot of slow start is what later tells an empty queue from a full one.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"
#include "roots.h"
#include "slow_start.h"

PARAM(u32, beta, 512, 1, 1023, "/1024", "window that a loss leaves; the paper's numbers need 896");
PARAM(u32, horizon, 1, 0, 2, "",
      "the largest RTT is that of: 0 the connection, as in the paper, 1 the time since a timeout, 2 since a loss");
PARAM(bool, sample_slow_start, true, 0, 1, "", "RTTs of slow start count too");

enum elastic_horizon {
	SINCE_THE_START,
	SINCE_A_TIMEOUT,
	SINCE_A_LOSS,
};

#define SHARE_BITS 10 /* beta is in 1/1024 */
/* WWF is in 1/32 segment; the number it is the root of, with windows up to 2^30 and RTTs up to 16 s, fits 64 bits. */
#define WWF_BITS 5
#define LONGEST_RTT ((1U << 24) - 1)

/* RTTs in us. All zero: no sample yet. */
struct elastic {
	__u32 rtt_cur;
	__u32 rtt_max;
	/* The sum of WWF over segments acknowledged, less the windows that became a segment each; 1/32 segment. */
	__u64 earned;
};

static __always_inline void elastic_init(struct sock *sk)
{
	*(struct elastic *)inet_csk_ca(sk) = (struct elastic){};
}

/* In 1/32 segment (equations 2 to 5). */
static __always_inline __u32 elastic_wwf(__u32 cwnd, __u32 rtt_max, __u32 rtt_cur)
{
	return square_root(((__u64)cwnd * rtt_max << 2 * WWF_BITS) / rtt_cur);
}

static __always_inline void elastic_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct elastic *ca = inet_csk_ca(sk);

	if (sample->rtt_us < 0 || (!sample_slow_start && tcp_in_slow_start(tcp_sk(sk))))
		return;
	ca->rtt_cur = min((__u32)sample->rtt_us + 1, LONGEST_RTT); /* never zero */
	ca->rtt_max = max(ca->rtt_max, ca->rtt_cur);
}

/* Equation 6. The remainder stays, so that no growth is lost, however small. */
static __always_inline void elastic_grow(struct tcp_sock *tp, struct elastic *ca, __u32 acked)
{
	__u32 rtt_cur = max(ca->rtt_cur, 1U);
	__u32 rtt_max = max(ca->rtt_max, rtt_cur); /* after a timeout there may be no sample yet */
	__u64 window = (__u64)tp->snd_cwnd << WWF_BITS;

	ca->earned += (__u64)acked * elastic_wwf(tp->snd_cwnd, rtt_max, rtt_cur);
	__u64 segments = ca->earned / window;

	ca->earned -= segments * window;
	tp->snd_cwnd = min(tp->snd_cwnd + segments, (__u64)tp->snd_cwnd_clamp);
}

static __always_inline void elastic_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!reaches_congestion_avoidance(sk, &acked))
		return;
	elastic_grow(tp, inet_csk_ca(sk), acked);
}

static __always_inline __u32 elastic_ssthresh(struct sock *sk)
{
	struct elastic *ca = inet_csk_ca(sk);

	ca->earned = 0;
	if (horizon == SINCE_A_LOSS)
		ca->rtt_max = 0;
	return max((__u32)((__u64)tcp_sk(sk)->snd_cwnd * beta >> SHARE_BITS), 2U);
}

static __always_inline void elastic_set_state(struct sock *sk, __u8 new_state)
{
	struct elastic *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss && horizon != SINCE_THE_START)
		ca->rtt_max = 0;
}

#ifndef ELASTIC_AS_BASE
INIT_PROGRAM(elastic_init)
PKTS_ACKED_PROGRAM(elastic_pkts_acked)
CONG_AVOID_PROGRAM(elastic_cong_avoid)
SSTHRESH_PROGRAM(elastic_ssthresh)
SET_STATE_PROGRAM(elastic_set_state)
UNDO_CWND_PROGRAM(tcp_reno_undo_cwnd)

SEC(".struct_ops.link")
struct tcp_congestion_ops elastic = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "elastic",
};

char _license[] SEC("license") = "Dual BSD/GPL";
#endif
