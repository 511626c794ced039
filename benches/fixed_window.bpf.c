/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A window that nothing changes: what is measured with it, in benchmarks and tests, is the sender and the path, not a
 * control.
 *
 * A timeout does bring the window down to one segment, as it does to every control; the next acknowledgement restores
 * it.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"

PARAM(u32, window, 100, 1, 2147483647, "packets", "the congestion window");

SEC("struct_ops")
void BPF_PROG(fixed_init, struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = window;
	tcp_sk(sk)->snd_ssthresh = window;
}

SEC("struct_ops")
void BPF_PROG(fixed_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_sk(sk)->snd_cwnd = window;
}

SEC("struct_ops")
__u32 BPF_PROG(fixed_ssthresh, struct sock *sk)
{
	return window;
}

SEC("struct_ops")
__u32 BPF_PROG(fixed_undo_cwnd, struct sock *sk)
{
	return window;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops fixed_window = {
	.init = (void *)fixed_init,
	.cong_avoid = (void *)fixed_cong_avoid,
	.ssthresh = (void *)fixed_ssthresh,
	.undo_cwnd = (void *)fixed_undo_cwnd,
	.name = CONTROL_NAME("fixed_window"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
