/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dtpa: waits before each window, so that near and far nodes of a sensor network send equally much.
 *
 * DTPA (dynamic TX period adjustment) is Reno with a wait. Every node of a multi-hop network sends c segments a second.
 * Without the wait the near nodes would send more, because they have fewer losses and shorter round trips.
 *
 * From H.-S. Im, "TCP Performance Enhancement in Wireless Networks", dissertation, Seoul National University, 2015,
 * chapter 4. DTPA counts the share p of the segments sent that timeouts and duplicates have found lost. It updates TXP
 * at each sample of the RTT, whose average has the weight 1/8:
 *
 *    TXP = max(0, a / (c sqrt(p)) - RTT),  a = sqrt(3/2)
 *
 * A node sends a window, waits until it is acknowledged, and waits TXP. Packets that it forwards for others never wait.
 *
 * Departures and choices (papers/dtpa/choices.toml, table `wait`, has the gate and the memory beside the others):
 *  - the wait is spread over the window: DTPA paces at cwnd / (TXP + RTT), as kernels can. The simulator can also hold
 *    whole windows, with gate = true in the profile;
 *  - without a loss p is 0 and TXP has no bound, so a node waits only after its first loss. From then on p is at
 *    least 1/10000, and TXP is at most 30 s;
 *  - the paper counts over the life of the connection. With `memory` both counts are halved after more segments than
 *    that;
 *  - an ECN mark, and a loss that a probe has found, count like duplicates;
 *  - the window grows in the paper by 1/cwnd with every ACK. Here only a window in use grows, as in Linux, and a window
 *    that waits with more data behind it is in use.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "control_programs.h"
#include "dtpa_period.h"
#include "waiting_reno.h"

PARAM(u32, c, 2000, 1, 1000000000, "", "thousandths of a segment a second, which each node is to send");
PARAM(u32, memory, 0, 0, 1000000000, "packets", "counts are halved when more were sent; 0 = counts of a lifetime");

struct dtpa {
	__u32 sent;	     /* segments, retransmissions included ... */
	__u32 losses;	     /* ... and how often some of them were found lost */
	__u32 data_segs_out; /* when they were counted last */
	__u32 acked_to;	     /* sequence number */
	__u32 period_us;     /* TXP */
};

static __always_inline void dtpa_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	*(struct dtpa *)inet_csk_ca(sk) = (struct dtpa){.data_segs_out = tp->data_segs_out, .acked_to = tp->snd_una};
	waiting_reno_init(sk);
}

static __always_inline void dtpa_count_sent(const struct tcp_sock *tp, struct dtpa *ca)
{
	ca->sent += tp->data_segs_out - ca->data_segs_out;
	ca->data_segs_out = tp->data_segs_out;
	if (memory && ca->sent > memory) {
		ca->sent /= 2;
		ca->losses = (ca->losses + 1) / 2;
	}
}

/* Counts each time that segments are found lost, not each segment: RTOcounter and FRcounter of the paper. */
static __always_inline void dtpa_set_state(struct sock *sk, __u8 new_state)
{
	struct dtpa *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_CWR || new_state == TCP_CA_Recovery || new_state == TCP_CA_Loss)
		ca->losses++;
	waiting_reno_set_state(sk, new_state);
}

static __always_inline void dtpa_cong_control(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dtpa *ca = inet_csk_ca(sk);

	dtpa_count_sent(tp, ca);
	/* A window that waits, with more data behind it, is in use. */
	waiting_reno_acked(sk, rs, &ca->acked_to, tcp_is_cwnd_limited(sk) || (ca->period_us && !rs->is_app_limited));
	if (rs->rtt_us >= 0)
		ca->period_us = dtpa_period_us(ca->sent, ca->losses, tp->srtt_us >> 3, c);
	waiting_reno_pace(sk, tp->snd_cwnd, ca->period_us);
}

INIT_PROGRAM(dtpa_init)

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	dtpa_cong_control(sk, rs);
}

SET_STATE_PROGRAM(dtpa_set_state)
SSTHRESH_PROGRAM(tcp_reno_ssthresh)
UNDO_CWND_PROGRAM(tcp_reno_undo_cwnd)

/* A burst of two segments is more than a sensor's share. */
SEC("struct_ops")
__u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops dtpa = {
	.init = (void *)init,
	.cong_control = (void *)cong_control,
	.set_state = (void *)set_state,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)min_tso_segs,
	.name = "dtpa",
};

char _license[] SEC("license") = "Dual BSD/GPL";
