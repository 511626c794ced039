/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fixed window that shows, as ssthresh, one more than what it has counted: how often it was told that sending
 * starts with nothing in flight, or how many segments its ACK events found delivered that were not before.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "keeps_window.h"

PARAM(u32, window, 10, 1, 1000, "packets", "the window");
PARAM(u32, what, 0, 0, 1, "", "0: starts, 1: what the ACK events missed of the segments delivered, at the last one");

struct state {
	__u32 starts;
	__u32 delivered; /* as the last ACK event found it */
};

SEC("struct_ops")
void BPF_PROG(events_init, struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = window;
}

SEC("struct_ops")
void BPF_PROG(events_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct state *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_TX_START)
		ca->starts++;
}

SEC("struct_ops")
void BPF_PROG(events_in_ack_event, struct sock *sk, __u32 flags)
{
	struct state *ca = inet_csk_ca(sk);

	ca->delivered = tcp_sk(sk)->delivered;
}

SEC("struct_ops")
void BPF_PROG(events_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct state *ca = inet_csk_ca(sk);

	tcp_sk(sk)->snd_cwnd = window;
	tcp_sk(sk)->snd_ssthresh = 1 + (what ? tcp_sk(sk)->delivered - ca->delivered : ca->starts);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops events_seen = {
	.init = (void *)events_init,
	.cwnd_event = (void *)events_cwnd_event,
	.in_ack_event = (void *)events_in_ack_event,
	.cong_control = (void *)events_control,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("events_seen"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
