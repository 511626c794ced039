/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Elastic+: Elastic-TCP behind the delayed window update, which keeps it from filling the buffer.
 *
 * From the future work of Min Wang and Lingyun Yuan, "TCP Delayed Window Update Mechanism for Fighting the Bufferbloat", KSII TIIS, 2016:
 * the mechanism on another base. It stands in delayed_window_update.h; Elastic-TCP is elastic.bpf.c.
 *
 * Departures: the paper gives no parameters for this base; they are those of Cubic+. Elastic-TCP has no clock that a hold could stop, and goes
 * on looking at RTTs while it is held.
 */
#define ELASTIC_AS_BASE
#include "elastic.bpf.c"
#include "delayed_window_update.h"

struct elastic_plus {
	struct elastic base;
	struct delayed_window gate;
};
_Static_assert(sizeof(struct elastic_plus) <= 104, "the kernel gives a congestion control 104 bytes");

static __always_inline struct delayed_window *gate_of(struct sock *sk)
{
	struct elastic_plus *state = inet_csk_ca(sk);

	return &state->gate;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	elastic_init(sk);
	delayed_window_init(gate_of(sk));
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	elastic_pkts_acked(sk, sample);
	delayed_window_pkts_acked(sk, gate_of(sk), sample);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	if (delayed_window_is_open(sk, gate_of(sk)))
		elastic_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return elastic_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	elastic_set_state(sk, new_state);
	delayed_window_set_state(sk, gate_of(sk), new_state);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	delayed_window_cwnd_event(sk, gate_of(sk), event);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops elastic_plus = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "elastic_plus",
};

char _license[] SEC("license") = "Dual BSD/GPL";
