/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fixed window that tells what it sees of the timestamps option: in ssthresh, the ticks from TSecr to TSval and 1;
 * without the option 1 alone.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "keeps_window.h"

PARAM(u32, window, 10, 2, 1000, "packets",
      "the window of a connection whose SYN-ACK was seen with the option; without it, one more");

static void tell(struct tcp_sock *tp)
{
	tp->snd_ssthresh = 1;
	if (tp->rx_opt.saw_tstamp)
		tp->snd_ssthresh += tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr;
}

SEC("struct_ops")
void BPF_PROG(seen_init, struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = window + !tcp_sk(sk)->rx_opt.saw_tstamp;
	tell(tcp_sk(sk));
}

SEC("struct_ops")
void BPF_PROG(seen_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	tell(tcp_sk(sk));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops timestamps_seen = {
	.init = (void *)seen_init,
	.cong_control = (void *)seen_control,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("timestamps_seen"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
