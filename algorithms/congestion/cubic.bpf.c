/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUBIC: after a loss the window follows W(t) = C (t - K)^3 + W_max, fast at first, flat around W_max, fast again
 * above it.
 *
 * From Ha, Rhee, Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", ACM SIGOPS OSR 42(5), 2008, and RFC 9438, in
 * the integer form that Linux gives it. HyStart ends slow start (Ha, Rhee, "Taming the elephants", 2011). CUBIC reads
 * the curve once a jiffy. It turns the curve into a number of ACKed segments for each additional one.
 *
 * Departures:
 *  - from RFC 9438, with Linux: the threshold after a loss is beta times the window, not beta times the flight. The
 *    Reno estimate keeps its slope when it passes the window before the loss. The window grows to at most 1.5 times in
 *    a round trip;
 *  - from RFC 9438 and from the paper, with Linux: before the first loss the window grows by at least 5 % a round trip;
 *  - from Linux: the cube root is exact; Linux's is within 0.2 %. The distance from K ends at 256 s; Linux overflows at
 *    346 s.
 *
 * CUBIC 2.1, as Linux 2.6.22 had it and ns-2.35 has it, is `beta = 819, s_max = 16, ack_ratio = 31, hystart = false`.
 * Its estimate of segments an ACK starts at 2. Where each segment is acknowledged, it stays at 31/16.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"
#include "roots.h"
#include "slow_start.h"

PARAM(u32, c, 410, 1, 1000, "/1024", "scale C of the curve, segments per cubic second");
PARAM(u32, beta, 717, 512, 1000, "/1024", "window that a loss leaves");
PARAM(bool, fast_convergence, true, 0, 1, "", "a flow that loses before it regains W_max gives way");
PARAM(bool, friendliness, true, 0, 1, "", "never slower than Reno would be");
PARAM(u32, s_max, 0, 0, 1000000, "packets", "at most so much growth in 100 ms above the curve's origin; 0: no bound");
PARAM(u32, ack_ratio, 16, 16, 32, "/16", "segments that an ACK is taken for: the window grows as many times as fast");
#ifdef CUBIC_OTHER_SLOW_START
struct hystart {};
#define hystart_begin(hy)
#define hystart_new_round(sk, hy)
#define hystart_sample(sk, hy, rtt_us, min_rtt_us)
#else
#include "hystart.h"
#endif

#define SHARE_BITS 10 /* shares are in 1/1024 */
#define SHARE (1U << SHARE_BITS)
#define TIME_BITS 10	    /* the curve's time is in 1/1024 s */
#define FARTHEST (1U << 18) /* from K, in that unit: C times its cube still fits 64 bits */
#define ACK_RATIO_ONE 16U

/* Windows in segments; times in jiffies unless they say us. All zero: no loss yet, no epoch. */
struct cubic {
	__u32 cnt;		/* ACKed segments for each additional one */
	__u32 w_max;		/* window before the last loss */
	__u32 last_cwnd;	/* at the last reading of the curve ... */
	__u32 last_read;	/* ... which was then */
	__u32 bic_origin_point; /* the curve's level part */
	__u32 k;		/* from the epoch's start to the origin, 1/1024 s */
	__u32 min_rtt_us;
	__u32 epoch_start; /* 0: none */
	__u32 acked;	   /* not yet turned into w_est */
	__u32 w_est;	   /* the window that Reno would have */
	struct hystart hystart;
};

static __always_inline void cubic_reset(struct cubic *ca)
{
	*ca = (struct cubic){.hystart = ca->hystart};
	hystart_begin(&ca->hystart);
}

static __always_inline void cubic_init(struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);

	cubic_reset(ca);
	hystart_new_round(sk, &ca->hystart);
}

/* K = cbrt((W_max - cwnd) / C), in 1/1024 s, rounded up: the curve does not begin above the window. */
static __always_inline __u32 cubic_k(__u32 distance)
{
	return cube_root((1ULL << (SHARE_BITS + 3 * TIME_BITS)) / c * distance - 1) + 1;
}

/* W(t), t in 1/1024 s since the epoch's start. */
static __always_inline __u32 cubic_window(const struct cubic *ca, __u64 t)
{
	__u64 away = min(t < ca->k ? ca->k - t : t - ca->k, (__u64)FARTHEST);
	__u32 delta = (c * away * away * away) >> (SHARE_BITS + 3 * TIME_BITS);

	return t < ca->k ? ca->bic_origin_point - delta : ca->bic_origin_point + delta;
}

static __always_inline void cubic_start_epoch(struct cubic *ca, __u32 cwnd, __u32 acked)
{
	ca->epoch_start = tcp_jiffies32;
	ca->acked = acked;
	ca->w_est = cwnd;
	ca->k = ca->w_max > cwnd ? cubic_k(ca->w_max - cwnd) : 0;
	ca->bic_origin_point = max(ca->w_max, cwnd);
}

/* The time on the curve at which the next round trip ends. */
static __always_inline __u64 cubic_time(const struct cubic *ca)
{
	__u64 jiffies = tcp_jiffies32 - ca->epoch_start;

	jiffies += (ca->min_rtt_us + USEC_PER_JIFFY - 1) / USEC_PER_JIFFY;
	return (jiffies << TIME_BITS) / HZ;
}

/* ACKed segments for each additional one, when a round trip's growth is s_max in 100 ms. */
static __always_inline __u32 cubic_slowest(const struct cubic *ca, __u32 cwnd)
{
	return (__u64)cwnd * (USEC_PER_SEC / 10) / ((__u64)s_max * ca->min_rtt_us);
}

static __always_inline void cubic_read_curve(struct cubic *ca, __u32 cwnd)
{
	__u64 t = cubic_time(ca);
	__u32 target = cubic_window(ca, t);

	ca->cnt = target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd;
	if (s_max && ca->min_rtt_us && t >= ca->k)
		ca->cnt = max(ca->cnt, cubic_slowest(ca, cwnd));
	/* Before the first loss the curve says little about the path: at least 5 % a round trip. */
	if (!ca->w_max)
		ca->cnt = min(ca->cnt, 20U);
}

/* Reno's growth for the same share beta: alpha = 3 (1 - beta) / (1 + beta) a round trip. */
static __always_inline void cubic_reno_friendly_region(struct cubic *ca, __u32 cwnd)
{
	__u32 scale = 8 * (SHARE + beta) / 3 / (SHARE - beta);
	__u32 acks_per_step = ((__u64)cwnd * scale) >> 3;

	if (acks_per_step && ca->acked > acks_per_step) {
		__u32 steps = (ca->acked - 1) / acks_per_step;

		ca->acked -= steps * acks_per_step;
		ca->w_est += steps;
	}
	if (ca->w_est > cwnd)
		ca->cnt = min(ca->cnt, cwnd / (ca->w_est - cwnd));
}

static __always_inline void cubic_update(struct cubic *ca, __u32 cwnd, __u32 acked)
{
	__u32 now = tcp_jiffies32;

	ca->acked += acked;
	if (ca->last_cwnd == cwnd && (__s32)(now - ca->last_read) <= (__s32)(HZ / 32))
		return;
	if (!ca->epoch_start || now != ca->last_read) {
		ca->last_cwnd = cwnd;
		ca->last_read = now;
		if (!ca->epoch_start)
			cubic_start_epoch(ca, cwnd, acked);
		cubic_read_curve(ca, cwnd);
	}
	if (friendliness)
		cubic_reno_friendly_region(ca, cwnd);
	ca->cnt = max(ca->cnt, 2U); /* at most 1.5 times a round trip */
}

static __always_inline void cubic_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = inet_csk_ca(sk);

	if (!reaches_congestion_avoidance(sk, &acked))
		return;
	cubic_update(ca, tp->snd_cwnd, acked);
	tcp_cong_avoid_ai(tp, ack_ratio == ACK_RATIO_ONE ? ca->cnt : ca->cnt * ACK_RATIO_ONE / ack_ratio, acked);
}

/* The curve starts again from the window that the next ACK finds; W_max stays. */
static __always_inline void cubic_end_epoch(struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);

	ca->epoch_start = 0;
}

static __always_inline __u32 cubic_ssthresh(struct sock *sk)
{
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;
	struct cubic *ca = inet_csk_ca(sk);

	cubic_end_epoch(sk);
	if (fast_convergence && cwnd < ca->w_max)
		ca->w_max = (__u64)cwnd * (SHARE + beta) / (2 * SHARE);
	else
		ca->w_max = cwnd;
	return max((__u32)((__u64)cwnd * beta / SHARE), 2U);
}

static __always_inline void cubic_set_state(struct sock *sk, __u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		cubic_init(sk);
}

/* Shifts the epoch by the time in which the window could not move, but not into the future. */
static __always_inline void cubic_shift_epoch(struct sock *sk, __u32 jiffies)
{
	struct cubic *ca = inet_csk_ca(sk);
	__u32 now = tcp_jiffies32;

	if (!ca->epoch_start)
		return;
	ca->epoch_start += jiffies;
	if (after(ca->epoch_start, now))
		ca->epoch_start = now;
}

static __always_inline void cubic_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	__s32 idle = tcp_jiffies32 - tcp_sk(sk)->lsndtime;

	if (event == CA_EVENT_TX_START && idle > 0)
		cubic_shift_epoch(sk, idle);
}

static __always_inline void cubic_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct cubic *ca = inet_csk_ca(sk);

	if (sample->rtt_us < 0)
		return;
	/* In the first second after a loss the earlier queue still drains. */
	if (ca->epoch_start && (__s32)(tcp_jiffies32 - ca->epoch_start) < (__s32)HZ)
		return;
	__u32 rtt_us = max(sample->rtt_us, 1);

	if (!ca->min_rtt_us || rtt_us < ca->min_rtt_us)
		ca->min_rtt_us = rtt_us;
	hystart_sample(sk, &ca->hystart, rtt_us, ca->min_rtt_us);
}

#ifndef CUBIC_AS_BASE
INIT_PROGRAM(cubic_init)
CONG_AVOID_PROGRAM(cubic_cong_avoid)
SSTHRESH_PROGRAM(cubic_ssthresh)
SET_STATE_PROGRAM(cubic_set_state)
CWND_EVENT_PROGRAM(cubic_cwnd_event)
PKTS_ACKED_PROGRAM(cubic_pkts_acked)
UNDO_CWND_PROGRAM(tcp_reno_undo_cwnd)

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic = {
	.init = (void *)init,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.pkts_acked = (void *)pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("cubic"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
#endif
