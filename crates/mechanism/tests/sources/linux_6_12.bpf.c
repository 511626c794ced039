/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * As congestion controls are written since Linux 6.11: helpers in bpf_tracing_net.h, the kernel's own CUBIC and DCTCP
 * by function.
 */
#include "bpf_tracing_net.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

extern void cubictcp_init(struct sock *sk) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void some_later_function(struct sock *sk) __ksym __weak;

static long count_up(__u32 index, void *ctx)
{
	*(__u32 *)ctx += index;
	return index == 3;
}

SEC("struct_ops")
void BPF_PROG(by_cubic_init, struct sock *sk)
{
	__u32 sum = 0;

	cubictcp_init(sk);
	if (bpf_ksym_exists(some_later_function))
		some_later_function(sk);
	if (bpf_loop(100, count_up, &sum, 0) != 4 || sum != 6 || !bpf_core_field_exists(sk->sk_pacing_rate))
		tcp_sk(sk)->snd_cwnd = 1;
	bpf_printk("init at %llu", bpf_ktime_get_ns());
}

SEC("struct_ops")
void BPF_PROG(by_cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
void BPF_PROG(by_cubic_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	if (tcp_is_cwnd_limited(sk) && BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) != TCP_CA_Recovery)
		cubictcp_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(by_cubic_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(by_cubic_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
}

SEC("struct_ops")
void BPF_PROG(by_cubic_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
}

SEC("struct_ops")
__u32 BPF_PROG(by_cubic_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops by_cubic = {
	.init = (void *)by_cubic_init,
	.ssthresh = (void *)by_cubic_ssthresh,
	.cong_avoid = (void *)by_cubic_cong_avoid,
	.set_state = (void *)by_cubic_state,
	.undo_cwnd = (void *)by_cubic_undo,
	.cwnd_event = (void *)by_cubic_cwnd_event,
	.pkts_acked = (void *)by_cubic_acked,
	.name = "test_6_12",
};
