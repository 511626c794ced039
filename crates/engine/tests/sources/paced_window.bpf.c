/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A fixed window that is paced at a fixed rate: what is measured with it is the pacer. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"

PARAM(u32, window, 100, 1, 1000000, "packets", "the congestion window");
PARAM(u32, rate, 1000000, 1, 1000000000, "", "bytes of payload a second");

SEC("struct_ops")
void BPF_PROG(paced_init, struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = window;
	sk->sk_pacing_rate = rate;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(paced_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	tcp_sk(sk)->snd_cwnd = window;
}

SEC("struct_ops")
__u32 BPF_PROG(paced_ssthresh, struct sock *sk)
{
	return window;
}

SEC("struct_ops")
__u32 BPF_PROG(paced_undo_cwnd, struct sock *sk)
{
	return window;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops paced_window = {
	.init = (void *)paced_init,
	.cong_control = (void *)paced_control,
	.ssthresh = (void *)paced_ssthresh,
	.undo_cwnd = (void *)paced_undo_cwnd,
	.name = CONTROL_NAME("paced_window"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
