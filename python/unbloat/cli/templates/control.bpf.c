/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NAME: say here in a line what it does; `unbloat show FILE` prints this comment.
 *
 * As it stands this is an additive increase and a multiplicative decrease with a parameter for each. Try it, check that
 * kernels take it, load it:
 *
 *     unbloat run home-dsl --cc FILE
 *     unbloat check FILE
 *     sudo unbloat load FILE
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"

/* Parameters: type, name, default, least, greatest, unit, meaning. A scenario's `params` and `--param` set them. */
PARAM(u32, increase, 1, 1, 100, "", "segments that the window grows by in a round trip");
PARAM(u32, beta, 70, 10, 100, "%", "window that a loss leaves");

/* State of a connection, at most 104 bytes. */
struct state {
	__u32 acked; /* segments acknowledged since the window last grew */
	__u32 min_rtt_us; /* least round-trip time so far; 0: none was seen yet */
};

static __always_inline struct state *state_of(struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* The connection is set up. */
SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct state *state = state_of(sk);

	state->acked = 0;
	state->min_rtt_us = 0;
}

/* An acknowledgement has come in; sample->rtt_us is a round-trip time, or negative if it gave none. */
SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct state *state = state_of(sk);

	if (sample->rtt_us > 0 && (!state->min_rtt_us || (__u32)sample->rtt_us < state->min_rtt_us))
		state->min_rtt_us = sample->rtt_us;
}

/* Grow the window: `acked` segments were delivered, and none is missing. */
SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct state *state = state_of(sk);

	if (!tp->is_cwnd_limited)
		return; /* The application sends less than the window allows. */
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		tp->snd_cwnd = min(tp->snd_cwnd + acked, tp->snd_cwnd_clamp);
		return;
	}
	state->acked += acked;
	if (state->acked >= tp->snd_cwnd) {
		state->acked = 0;
		tp->snd_cwnd = min(tp->snd_cwnd + increase, tp->snd_cwnd_clamp);
	}
}

/* Something was lost: the window to go on with, in segments, at least 2. */
SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd * beta / 100, 2U);
}

/* The loss turned out to be none: the window to go back to. */
SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops IDENTIFIER = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "IDENTIFIER",
};

char _license[] SEC("license") = "GPL";
