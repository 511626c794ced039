/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The programs of a congestion control that consists of a base behind the delayed window update. A file defines the
 * base before it includes this header,
 *
 *    #define DELAYED_WINDOW_BASE reno
 *
 * and has struct reno, reno_init(sk), reno_pkts_acked(sk, sample), reno_cong_avoid(sk, ack, acked), reno_ssthresh(sk),
 * reno_set_state(sk, new_state) and reno_cwnd_event(sk, event). A callback that the base does not need is an empty
 * macro. A base that follows a curve in time also has DELAYED_WINDOW_CUT(sk), called after a serious verdict, and
 * DELAYED_WINDOW_RELEASED(sk, jiffies), called with the length of a hold.
 */
#ifndef UNBLOAT_DELAYED_WINDOW_CONTROL_H
#define UNBLOAT_DELAYED_WINDOW_CONTROL_H

#include "delayed_window_update.h"

#ifndef DELAYED_WINDOW_CUT
#define DELAYED_WINDOW_CUT(sk)
#endif
#ifndef DELAYED_WINDOW_RELEASED
#define DELAYED_WINDOW_RELEASED(sk, jiffies)
#endif

#define base_function_of(base, callback) base##_##callback
#define base_function_late(base, callback) base_function_of(base, callback)
#define base_function(callback) base_function_late(DELAYED_WINDOW_BASE, callback)

struct delayed_window_control {
	struct DELAYED_WINDOW_BASE base;
	struct delayed_window gate;
};
_Static_assert(sizeof(struct delayed_window_control) <= 104, "the kernel gives a congestion control 104 bytes");

static __always_inline struct delayed_window *gate_of(struct sock *sk)
{
	struct delayed_window_control *state = inet_csk_ca(sk);

	return &state->gate;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	base_function(init)(sk);
	delayed_window_init(sk, gate_of(sk));
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	base_function(pkts_acked)(sk, sample);
	if (delayed_window_pkts_acked(sk, gate_of(sk), sample)) {
		DELAYED_WINDOW_CUT(sk);
	}
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	if (!delayed_window_is_open(sk, gate_of(sk)))
		return;
	DELAYED_WINDOW_RELEASED(sk, delayed_window_held_time(gate_of(sk)));
	base_function(cong_avoid)(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return base_function(ssthresh)(sk);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	base_function(set_state)(sk, new_state);
	delayed_window_set_state(sk, gate_of(sk), new_state);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	base_function(cwnd_event)(sk, event);
	delayed_window_cwnd_event(sk, gate_of(sk), event);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

#define DELAYED_WINDOW_CALLBACKS                                                                        \
	.init = (void *)init, .pkts_acked = (void *)pkts_acked, .cong_avoid = (void *)cong_avoid,       \
	.ssthresh = (void *)ssthresh, .set_state = (void *)set_state, .cwnd_event = (void *)cwnd_event, \
	.undo_cwnd = (void *)undo_cwnd

#endif
