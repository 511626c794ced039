/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fixed window that shows, as ssthresh, one more than what it sees of one member of the socket or of its rate
 * samples.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "keeps_window.h"

PARAM(u32, window, 10, 1, 1000, "packets", "the window");
PARAM(u32, what, 0, 0, 7, "", "which member is shown, as in seen()");

struct state {
	__u32 delayed; /* rate samples from suspected delayed ACKs */
	__u32 retransmitted; /* rate samples from segments that were ever sent again */
	__u32 rtt_min; /* when the connection opened */
};

static __u32 seen(const struct sock *sk, const struct state *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	switch (what) {
	case 0:
		return tp->rack.reo_wnd_steps;
	case 1:
		return tp->delivered;
	case 2:
		return ca->delayed;
	case 3:
		return ca->retransmitted;
	case 4:
		return ca->rtt_min == ~0U;
	case 5:
		return tp->bytes_acked;
	case 6:
		return tp->bytes_retrans;
	default:
		return tp->prr_out;
	}
}

SEC("struct_ops")
void BPF_PROG(seen_init, struct sock *sk)
{
	struct state *ca = inet_csk_ca(sk);

	*ca = (struct state){.rtt_min = tcp_sk(sk)->rtt_min.s[0].v};
	tcp_sk(sk)->snd_cwnd = window;
}

SEC("struct_ops")
void BPF_PROG(seen_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct state *ca = inet_csk_ca(sk);

	ca->delayed += rs->is_ack_delayed;
	ca->retransmitted += rs->is_retrans;
	tcp_sk(sk)->snd_cwnd = window;
	tcp_sk(sk)->snd_ssthresh = 1 + seen(sk, ca);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops socket_seen = {
	.init = (void *)seen_init,
	.cong_control = (void *)seen_control,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("socket_seen"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
