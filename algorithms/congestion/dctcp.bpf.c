/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DCTCP: cuts the window in proportion to the share of segments that met a queue above the marking threshold.
 *
 * From RFC 8257 (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010), in the form that Linux gives it. The
 * receiver echoes each change of the mark at once. The sender averages the marked share F of each round trip, alpha :=
 * (1 - g) alpha + g F, and cuts the window by alpha / 2.
 *
 * Departures from the RFC, all of them Linux's: a loss halves the window whatever alpha is; alpha starts at 1.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"

PARAM(u32, shift_g, 4, 1, 10, "", "gain g of the average is one over two to this power");
PARAM(u32, alpha_on_init, 1024, 0, 1024, "/1024", "alpha of a new connection");

#define DCTCP_ONE 1024U /* alpha is in 1/1024 */

struct dctcp {
	__u32 delivered;    /* at the start of this round ... */
	__u32 delivered_ce; /* ... and of those, marked */
	__u32 round_end;    /* sequence number */
	__u32 alpha;
	__u32 loss_cwnd;     /* window before the last cut */
	__u32 prior_rcv_nxt; /* receiver: what had arrived before this segment ... */
	__u32 ce;	     /* ... and whether the last one was marked */
};

static __always_inline void dctcp_new_round(const struct tcp_sock *tp, struct dctcp *ca)
{
	ca->round_end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

static __always_inline void dctcp_start(struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);

	ca->alpha = alpha_on_init;
	ca->loss_cwnd = 0;
	ca->prior_rcv_nxt = tcp_sk(sk)->rcv_nxt;
	ca->ce = 0;
	dctcp_new_round(tcp_sk(sk), ca);
}

static __always_inline void dctcp_average(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);
	__u32 decay = ca->alpha >> shift_g;

	if (before(tp->snd_una, ca->round_end))
		return;
	ca->alpha -= decay ?: ca->alpha; /* too small to decay by shares: zero */

	__u32 marked = tp->delivered_ce - ca->delivered_ce;

	if (marked) {
		__u32 share = (marked << (10 - shift_g)) / max(tp->delivered - ca->delivered, 1U);

		ca->alpha = min(ca->alpha + share, DCTCP_ONE);
	}
	dctcp_new_round(tp, ca);
}

static __always_inline __u32 dctcp_threshold(struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->loss_cwnd = cwnd;
	return max(cwnd - (__u32)((__u64)cwnd * ca->alpha >> 11), 2U);
}

static __always_inline void dctcp_lose(struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);

	ca->loss_cwnd = tcp_sk(sk)->snd_cwnd;
	tcp_sk(sk)->snd_ssthresh = max(ca->loss_cwnd / 2, 2U);
}

static __always_inline void dctcp_enter(struct sock *sk, __u8 new_state)
{
	if (new_state == TCP_CA_Recovery && BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) != TCP_CA_Recovery)
		dctcp_lose(sk);
}

static __always_inline void dctcp_echo(struct tcp_sock *tp, bool ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/*
 * Acknowledges each change of the mark at once. Segments that a delayed ACK still covers are acknowledged first, with
 * the earlier mark.
 */
static __always_inline void dctcp_receive(struct sock *sk, bool ce)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);

	if (ca->ce != ce) {
		if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
			dctcp_echo(tp, ca->ce);
			bpf_tcp_send_ack(tp, ca->prior_rcv_nxt);
		}
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->ce = ce;
	dctcp_echo(tp, ce);
}

static __always_inline void dctcp_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		dctcp_receive(sk, event == CA_EVENT_ECN_IS_CE);
	else if (event == CA_EVENT_LOSS)
		dctcp_lose(sk);
}

static __always_inline __u32 dctcp_undo(struct sock *sk)
{
	const struct dctcp *ca = inet_csk_ca(sk);

	return max(tcp_sk(sk)->snd_cwnd, ca->loss_cwnd);
}

#ifndef DCTCP_AS_BASE
INIT_PROGRAM(dctcp_start)

SEC("struct_ops")
void BPF_PROG(in_ack_event, struct sock *sk, __u32 flags)
{
	dctcp_average(sk);
}

CONG_AVOID_PROGRAM(tcp_reno_cong_avoid)
SSTHRESH_PROGRAM(dctcp_threshold)
SET_STATE_PROGRAM(dctcp_enter)
CWND_EVENT_PROGRAM(dctcp_event)
UNDO_CWND_PROGRAM(dctcp_undo)

SEC(".struct_ops.link")
struct tcp_congestion_ops dctcp = {
	.init = (void *)init,
	.in_ack_event = (void *)in_ack_event,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.flags = TCP_CONG_NEEDS_ECN,
	.name = CONTROL_NAME("dctcp"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
#endif
