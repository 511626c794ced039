/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The struct_ops programs of a congestion control whose callbacks are plain functions, so that another file can build
 * on them. Each macro makes the program that bears the callback's name in struct tcp_congestion_ops and calls the given
 * function with its arguments.
 */
#ifndef UNBLOAT_CONTROL_PROGRAMS_H
#define UNBLOAT_CONTROL_PROGRAMS_H

#include "bpf/bpf_tracing.h"

#define INIT_PROGRAM(function)               \
	SEC("struct_ops")                    \
	void BPF_PROG(init, struct sock *sk) \
	{                                    \
		function(sk);                \
	}

#define CONG_AVOID_PROGRAM(function)                                       \
	SEC("struct_ops")                                                  \
	void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked) \
	{                                                                  \
		function(sk, ack, acked);                                  \
	}

#define SSTHRESH_PROGRAM(function)                \
	SEC("struct_ops")                         \
	__u32 BPF_PROG(ssthresh, struct sock *sk) \
	{                                         \
		return function(sk);              \
	}

#define SET_STATE_PROGRAM(function)                               \
	SEC("struct_ops")                                         \
	void BPF_PROG(set_state, struct sock *sk, __u8 new_state) \
	{                                                         \
		function(sk, new_state);                          \
	}

#define CWND_EVENT_PROGRAM(function)                                        \
	SEC("struct_ops")                                                   \
	void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event) \
	{                                                                   \
		function(sk, event);                                        \
	}

#define PKTS_ACKED_PROGRAM(function)                                                \
	SEC("struct_ops")                                                           \
	void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample) \
	{                                                                           \
		function(sk, sample);                                               \
	}

#define UNDO_CWND_PROGRAM(function)                \
	SEC("struct_ops")                          \
	__u32 BPF_PROG(undo_cwnd, struct sock *sk) \
	{                                          \
		return function(sk);               \
	}

#endif
