/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cubic+: CUBIC behind the delayed window update, which keeps it from filling the buffer.
 *
 * From Min Wang and Lingyun Yuan, "TCP Delayed Window Update Mechanism for Fighting the Bufferbloat", KSII TIIS, 2016 (card cubic-plus).
 * What the mechanism does, and each open choice of the paper, stands in delayed_window_update.h; CUBIC is cubic.bpf.c.
 *
 * Departures: while the window is held the curve's clock stands still, and after a serious cut the curve starts again from the new
 * window with W_max unchanged. The paper says neither; without the first, the first ACK after a hold would jump to where the curve has
 * gone meanwhile.
 */
#define CUBIC_AS_BASE
#include "cubic.bpf.c"
#include "delayed_window_update.h"

struct cubic_plus {
	struct cubic base;
	struct delayed_window gate;
};
_Static_assert(sizeof(struct cubic_plus) <= 104, "the kernel gives a congestion control 104 bytes");

static __always_inline struct delayed_window *gate_of(struct sock *sk)
{
	struct cubic_plus *state = inet_csk_ca(sk);

	return &state->gate;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	cubic_init(sk);
	delayed_window_init(gate_of(sk));
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubic_pkts_acked(sk, sample);
	if (delayed_window_pkts_acked(sk, gate_of(sk), sample))
		cubic_end_epoch(sk);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	if (!delayed_window_is_open(sk, gate_of(sk)))
		return;
	cubic_shift_epoch(sk, delayed_window_held_time(gate_of(sk)));
	cubic_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return cubic_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	cubic_set_state(sk, new_state);
	delayed_window_set_state(sk, gate_of(sk), new_state);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubic_cwnd_event(sk, event);
	delayed_window_cwnd_event(sk, gate_of(sk), event);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic_plus = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "cubic_plus",
};

char _license[] SEC("license") = "Dual BSD/GPL";
