/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reno+: Reno behind the delayed window update, which keeps it from filling the buffer.
 *
 * From the future work of Min Wang and Lingyun Yuan, "TCP Delayed Window Update Mechanism for Fighting the
 * Bufferbloat", KSII TIIS, 2016: the mechanism on another base. The file delayed_window_update.h describes the
 * mechanism, and reno.bpf.c describes Reno.
 *
 * Departures: the paper gives no parameters for this base, so they are those of Cubic+. Reno has no clock that a hold
 * could stop.
 */
#define RENO_AS_BASE
#include "reno.bpf.c"

/* Reno has no state, and reacts only to ACKs and losses. */
struct reno {};
#define reno_init(sk)
#define reno_pkts_acked(sk, sample)
#define reno_set_state(sk, new_state)
#define reno_cwnd_event(sk, event)
#define DELAYED_WINDOW_BASE reno
#include "delayed_window_control.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops reno_plus = {
	DELAYED_WINDOW_CALLBACKS,
	.name = "reno_plus",
};

char _license[] SEC("license") = "Dual BSD/GPL";
