/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR's model of a path, and the values that follow from it: gains, pacing rate, bandwidth-delay product, packets in
 * the network (Linux's tcp_bbr.c). congestion/bbr.bpf.c measures and decides.
 */
#ifndef UNBLOAT_BBR_MODEL_H
#define UNBLOAT_BBR_MODEL_H

#include "control.h"
#include "delivery_rate.h"
#include "long_term_bw.h"

PARAM(u32, high_gain, 2956, 1024, 10240, "/1024", "pacing and window gain of STARTUP");
PARAM(u32, drain_gain, 352, 1, 1024, "/1024", "pacing gain of DRAIN");
PARAM(u32, cwnd_gain, 2048, 1024, 10240, "/1024", "window over rate times least RTT");
PARAM(u32, probe_up, 1280, 1024, 10240, "/1024", "pacing gain of the phase that looks for more");
PARAM(u32, probe_down, 768, 1, 1024, "/1024", "pacing gain of the phase after it");
PARAM(u32, pacing_margin, 1, 0, 99, "%", "share by which pacing stays below the estimate");

#define ONE 1024U	 /* gains are in 1/1024 */
#define CYCLE_LEN 8U	 /* of PROBE_BW */
#define SLOW 150000U	 /* bytes a second: below, bursts of one packet will do */
#define BURST_MAX 65215U /* bytes: the largest packet for segmentation offload without its headers */

enum bbr_mode {
	STARTUP,
	DRAIN,
	PROBE_BW,
	PROBE_RTT,
};

struct bbr {
	__u32 min_rtt_us;    /* ~0: none yet */
	__u32 min_rtt_stamp; /* jiffies */
	__u32 probe_rtt_end; /* jiffies; 0: more than the floor is still in flight; afterwards see bbr_is_app_limited() */
	struct windowed_max bw; /* over rounds */
	struct lt_bw lt;
	struct ack_aggregation aggregation;
	__u32 rtt_cnt;
	__u32 next_rtt_delivered; /* packets sent after this many were delivered belong to the next round */
	__u32 cycle_mstamp;	  /* us */
	__u32 full_bw;		  /* the next rate has to exceed this one by full_growth */
	__u32 prior_cwnd;	  /* before a recovery or PROBE_RTT */
	__u8 mode;
	__u8 cycle_idx;
	__u8 round_start; /* this ACK begins a round */
	__u8 idle_restart;
	__u8 full_count; /* rounds without growth */
	__u8 full;	 /* the pipe has been full */
	__u8 has_rtt;
	__u8 prior_state;	  /* enum tcp_ca_state, at the last ACK */
	__u8 packet_conservation; /* send only as many as were delivered */
	__u8 probe_rtt_round_done;
};

_Static_assert(sizeof(struct bbr) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv),
	       "the state must fit the socket");

static __always_inline __u32 bbr_max_bw(const struct bbr *bbr)
{
	return bbr->bw.best[0].value;
}

static __always_inline __u32 bbr_bw(const struct bbr *bbr)
{
	return bbr->lt.in_use ? bbr->lt.bw : bbr_max_bw(bbr);
}

static __always_inline __u32 bbr_pacing_gain(const struct bbr *bbr)
{
	if (bbr->mode == STARTUP)
		return high_gain;
	if (bbr->mode == DRAIN)
		return drain_gain;
	if (bbr->mode == PROBE_RTT || bbr->lt.in_use || bbr->cycle_idx > 1)
		return ONE;
	return bbr->cycle_idx == 0 ? probe_up : probe_down;
}

static __always_inline __u32 bbr_window_gain(const struct bbr *bbr)
{
	if (bbr->mode == PROBE_RTT)
		return ONE;
	return bbr->mode == PROBE_BW ? cwnd_gain : high_gain;
}

/* The order of the factors keeps 64 bits enough up to some Tbit/s. */
static __always_inline __u64 bbr_bytes_per_second(const struct sock *sk, __u64 bw, __u32 gain)
{
	__u64 rate = bw * tcp_sk(sk)->mss_cache * gain / ONE;

	return (rate * (USEC_PER_SEC / 100 * (100 - pacing_margin))) >> RATE_BITS;
}

static __always_inline __u64 bbr_pacing_rate(const struct sock *sk, __u64 bw, __u32 gain)
{
	return min(bbr_bytes_per_second(sk, bw, gain), (__u64)sk->sk_max_pacing_rate);
}

static __always_inline __u32 bbr_least_burst(const struct sock *sk)
{
	return sk->sk_pacing_rate < SLOW ? 1 : 2;
}

/* Packets of a burst: what the pacing rate sends in about a millisecond. */
static __always_inline __u32 bbr_burst(const struct sock *sk)
{
	__u64 bytes = min((__u64)sk->sk_pacing_rate >> sk->sk_pacing_shift, (__u64)BURST_MAX);
	__u32 packets = (__u32)bytes / max(tcp_sk(sk)->mss_cache, 1U);

	return min(max(packets, bbr_least_burst(sk)), 127U);
}

/* Bandwidth-delay product times a gain, in packets, rounded up. */
static __always_inline __u32 bbr_bdp(const struct bbr *bbr, __u32 bw, __u32 gain)
{
	if (bbr->min_rtt_us == ~0U)
		return TCP_INIT_CWND;
	return ((__u64)bw * bbr->min_rtt_us * gain / ONE + (1U << RATE_BITS) - 1) >> RATE_BITS;
}

/* Room for a burst in the sender, one in the network and one in the receiver, an even number against delayed ACKs. */
static __always_inline __u32 bbr_with_bursts(const struct sock *sk, const struct bbr *bbr, __u32 packets)
{
	packets = (packets + 3 * bbr_burst(sk) + 1) & ~1U;
	return bbr->mode == PROBE_BW && bbr->cycle_idx == 0 ? packets + 2 : packets;
}

static __always_inline __u32 bbr_inflight_target(const struct sock *sk, const struct bbr *bbr, __u32 gain)
{
	return bbr_with_bursts(sk, bbr, bbr_bdp(bbr, bbr_max_bw(bbr), gain));
}

/* The packets now in flight that will still be in the network when the pacer releases the next one. */
static __always_inline __u32 bbr_in_network(const struct sock *sk, const struct bbr *bbr, __u32 in_flight)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	__u64 wait_us = tp->tcp_wstamp_ns > tp->tcp_clock_cache ? (tp->tcp_wstamp_ns - tp->tcp_clock_cache) / 1000 : 0;
	__u32 leaves = rate_times(bbr_bw(bbr), wait_us);

	if (bbr_pacing_gain(bbr) > ONE)
		in_flight += bbr_burst(sk);
	return leaves < in_flight ? in_flight - leaves : 0;
}

#endif
