/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * H-TCP: grows faster the longer ago the last loss was, and at a loss keeps what fills the path without a queue.
 *
 * From Leith, Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004, in the form that Linux
 * gives it. With Delta seconds since the last loss the window grows in a round trip by
 *
 *    alpha = 2 (1 - beta) f,  f = 1 up to a second, then 1 + 10 (Delta - 1) + ((Delta - 1) / 2)^2
 *
 * segments. H-TCP multiplies f by 10 RTT_min (between 1/10 and 2), so that growth in time is that of a path of 100 ms.
 * A loss leaves
 *
 *    beta = RTT_min / RTT_max, between 0.5 and 0.8
 *
 * of the window. That just empties the queue, which was RTT_max - RTT_min long. H-TCP takes beta = 1/2 instead at the
 * first loss, and on a path of at most 10 ms. It also does so if the throughput since the last loss differs by more
 * than a fifth from that before it, because a flow has come or gone.
 *
 * Departures from the paper, all of them Linux's: f is a whole number. RTT_max grows by at most 20 ms at a time, and
 * only while TCP repairs nothing. A loss takes RTT_max a twentieth back towards RTT_min. Times are in jiffies, 4 ms
 * each at 250 a second, and RTTs are rounded up.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"

PARAM(bool, rtt_scaling, 1, 0, 1, "", "grow in time as on a path of 100 ms");
PARAM(bool, bandwidth_switch, 1, 0, 1, "", "halve where the throughput has changed by more than a fifth");

#define ONE 128	      /* of a share */
#define BETA_LEAST 64 /* 0.5 */
#define BETA_MOST 102 /* 0.8 */
#define SHORT_PATH_MS 10
#define RTT_STEP_MS 20
#define UNSETTLED 3 /* RTTs after a loss in which the throughput is that of the loss's own repair */

struct htcp {
	__u32 alpha; /* 1/128 segments a round trip */
	__u32 beta;  /* 1/128 */
	__u32 rtt_min;
	__u32 rtt_max;
	__u32 congested_at;
	__u32 bandwidth; /* segments a second, and the largest since the last loss and before it */
	__u32 bandwidth_max;
	__u32 bandwidth_max_before;
	__u32 measured_at; /* throughput is measured from then on ... */
	__u32 measured;	   /* ... with this many segments up to now */
	__u32 acked;	   /* segments, with the last ACK in Open */
	struct {
		__u32 congested_at; /* 0: there is nothing to undo */
		__u32 rtt_max;
		__u32 bandwidth_max_before;
	} undo;
	__u8 has_lost;
};

static __always_inline __u32 htcp_ms(__u32 ms)
{
	return (ms * HZ + 999) / 1000;
}

/* f, in whole segments, `jiffies` after the last loss. */
static __always_inline __u32 htcp_growth(__u32 jiffies)
{
	__u32 past = jiffies - HZ;

	if (jiffies <= HZ)
		return 1;
	return 1 + (10 * past + (past / 2) * (past / 2) / HZ) / HZ;
}

static __always_inline __u32 htcp_scaled(__u32 growth, __u32 rtt_min)
{
	__u32 eighths = min(max((__u32)(8 * HZ) / (10 * rtt_min), 4U), 80U);

	return max(8 * growth / eighths, 1U);
}

static __always_inline void htcp_set_alpha(struct htcp *ca)
{
	__u32 growth = htcp_growth(tcp_jiffies32 - ca->congested_at);

	if (rtt_scaling && ca->rtt_min)
		growth = htcp_scaled(growth, ca->rtt_min);
	ca->alpha = 2 * growth * (ONE - ca->beta);
}

static __always_inline bool htcp_bandwidth_has_changed(struct htcp *ca)
{
	__u32 before = ca->bandwidth_max_before;

	ca->bandwidth_max_before = ca->bandwidth_max;
	return 5 * ca->bandwidth_max < 4 * before || 5 * ca->bandwidth_max > 6 * before;
}

static __always_inline void htcp_set_beta(struct htcp *ca)
{
	if (bandwidth_switch && htcp_bandwidth_has_changed(ca)) {
		ca->beta = BETA_LEAST;
		ca->has_lost = 0;
	} else if (ca->has_lost && ca->rtt_min > htcp_ms(SHORT_PATH_MS) && ca->rtt_max) {
		ca->beta = min(max(ONE * ca->rtt_min / ca->rtt_max, (__u32)BETA_LEAST), (__u32)BETA_MOST);
	} else {
		ca->beta = BETA_LEAST;
		ca->has_lost = 1;
	}
}

static __always_inline void htcp_sample(struct htcp *ca, __u32 rtt, bool is_open)
{
	if (!ca->rtt_min || rtt < ca->rtt_min)
		ca->rtt_min = rtt;
	if (!is_open)
		return;
	ca->rtt_max = max(ca->rtt_max, ca->rtt_min);
	if (rtt > ca->rtt_max && rtt <= ca->rtt_max + htcp_ms(RTT_STEP_MS))
		ca->rtt_max = rtt;
}

static __always_inline void htcp_new_bandwidth(struct htcp *ca, __u32 bandwidth, __u32 now)
{
	if (now - ca->congested_at < (UNSETTLED + 1) * ca->rtt_min) {
		ca->bandwidth = ca->bandwidth_max = bandwidth;
		return;
	}
	ca->bandwidth = (3 * ca->bandwidth + bandwidth) / 4;
	ca->bandwidth_max = max(ca->bandwidth_max, ca->bandwidth);
}

/* Measures the segments of a second, once a window and at least once an RTT. */
static __always_inline void htcp_measure(struct htcp *ca, __u32 cwnd, __u32 acked, __u32 now)
{
	__u32 elapsed = now - ca->measured_at;

	ca->measured += acked;
	if (ca->measured < cwnd - (ca->alpha / ONE ?: 1) || !ca->rtt_min || elapsed < ca->rtt_min)
		return;
	htcp_new_bandwidth(ca, ca->measured * (__u32)HZ / elapsed, now);
	ca->measured = 0;
	ca->measured_at = now;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	*(struct htcp *)inet_csk_ca(sk) = (struct htcp){
		.alpha = ONE,
		.beta = BETA_LEAST,
		.acked = 1,
		.congested_at = tcp_jiffies32,
	};
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	__u8 state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
	struct htcp *ca = inet_csk_ca(sk);
	__u32 now = tcp_jiffies32;

	if (state == TCP_CA_Open)
		ca->acked = sample->pkts_acked;
	if (sample->rtt_us > 0)
		htcp_sample(ca, ((__u32)sample->rtt_us + USEC_PER_JIFFY - 1) / USEC_PER_JIFFY, state == TCP_CA_Open);
	if (state == TCP_CA_Open || state == TCP_CA_Disorder) {
		htcp_measure(ca, tcp_sk(sk)->snd_cwnd, sample->pkts_acked, now);
	} else {
		ca->measured = 0;
		ca->measured_at = now;
	}
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	if ((__u64)tp->snd_cwnd_cnt * ca->alpha / ONE >= tp->snd_cwnd) {
		tp->snd_cwnd = min(tp->snd_cwnd + 1, tp->snd_cwnd_clamp);
		tp->snd_cwnd_cnt = 0;
		htcp_set_alpha(ca);
	} else {
		tp->snd_cwnd_cnt += ca->acked;
	}
	ca->acked = 1;
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	htcp_set_beta(ca);
	htcp_set_alpha(ca);
	if (ca->rtt_min && ca->rtt_max > ca->rtt_min)
		ca->rtt_max = ca->rtt_min + (ca->rtt_max - ca->rtt_min) * 95 / 100;
	return max((__u32)((__u64)tcp_sk(sk)->snd_cwnd * ca->beta / ONE), 2U);
}

/* Delta counts from a loss, and after its repair from the end of that. Until then the loss can be undone. */
SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Disorder)
		return;
	if (new_state == TCP_CA_Open) {
		if (ca->undo.congested_at)
			ca->congested_at = tcp_jiffies32;
		ca->undo.congested_at = 0;
		return;
	}
	ca->undo.congested_at = ca->congested_at;
	ca->undo.rtt_max = ca->rtt_max;
	ca->undo.bandwidth_max_before = ca->bandwidth_max_before;
	ca->congested_at = tcp_jiffies32;
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (ca->undo.congested_at) {
		ca->congested_at = ca->undo.congested_at;
		ca->rtt_max = ca->undo.rtt_max;
		ca->bandwidth_max_before = ca->undo.bandwidth_max_before;
		ca->undo.congested_at = 0;
	}
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops htcp = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("htcp"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
