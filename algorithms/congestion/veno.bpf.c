/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Veno: Reno that estimates the queue as Vegas does, and takes a loss without a queue as a random one.
 *
 * From Fu, Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC 21(2), 2003, in
 * the form that Linux gives it. Veno estimates that cwnd (RTT - base) / RTT segments are queued. If they are fewer than
 * beta, the window grows as Reno's, and a loss leaves four fifths of it. Otherwise the window grows by a segment every
 * second round trip, and a loss leaves half.
 *
 * Departures from the paper, all of them Linux's:
 *  - the RTT is that of each ACK, not the round's average; the first two ACKs, and those while a loss is repaired, are
 *    Reno's;
 *  - the least RTT is forgotten after a pause, not after each loss.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "round_rtt.h"
#include "slow_start.h"

PARAM(u32, beta, 3, 0, 10000, "packets", "fewer queued: a loss is random");

#define HALVES 2U /* queued is in 1/2 segment */

struct veno {
	struct round_rtt rtt; /* its round is an ACK, but its samples are counted through */
	__u32 queued;	      /* at the last ACK, 1/2 segment */
	__u8 enabled;	      /* not while losses are repaired */
	__u8 skipped;	      /* a round trip without growth has gone by */
};

static __always_inline void veno_init(struct sock *sk)
{
	struct veno *ca = inet_csk_ca(sk);

	*ca = (struct veno){.enabled = 1, .skipped = 1};
	round_rtt_init(&ca->rtt);
}

static __always_inline __u32 veno_queued(__u32 cwnd, __u32 base_us, __u32 rtt_us)
{
	return HALVES * cwnd - (__u32)((__u64)HALVES * cwnd * base_us / rtt_us);
}

static __always_inline bool veno_is_random(const struct veno *ca)
{
	return ca->queued < HALVES * beta;
}

/* A segment every second time that a window has been acknowledged. */
static __always_inline void veno_grow_slowly(struct tcp_sock *tp, struct veno *ca, __u32 acked)
{
	if (tp->snd_cwnd_cnt < tp->snd_cwnd) {
		tp->snd_cwnd_cnt += acked;
		return;
	}
	if (ca->skipped)
		tp->snd_cwnd = min(tp->snd_cwnd + 1, tp->snd_cwnd_clamp);
	ca->skipped = !ca->skipped;
	tp->snd_cwnd_cnt = 0;
}

static __always_inline void veno_grow(struct sock *sk, struct veno *ca, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ca->queued = veno_queued(tp->snd_cwnd, ca->rtt.base_us, ca->rtt.least_us);
	if (reaches_congestion_avoidance(sk, &acked)) {
		if (veno_is_random(ca))
			tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
		else
			veno_grow_slowly(tp, ca, acked);
	}
	tp->snd_cwnd = max(tp->snd_cwnd, 2U);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	veno_init(sk);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct veno *ca = inet_csk_ca(sk);

	round_rtt_sample(&ca->rtt, sample);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct veno *ca = inet_csk_ca(sk);

	if (!ca->enabled) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (round_rtt_is_known(&ca->rtt))
		veno_grow(sk, ca, acked);
	else
		tcp_reno_cong_avoid(sk, ack, acked);
	ca->rtt.least_us = NO_RTT;
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return max(veno_is_random(inet_csk_ca(sk)) ? (__u32)((__u64)cwnd * 4 / 5) : cwnd / 2, 2U);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	struct veno *ca = inet_csk_ca(sk);

	ca->enabled = new_state == TCP_CA_Open;
}

/* After a pause the path may be another. */
SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		veno_init(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops veno = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("veno"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
