// SPDX-License-Identifier: GPL-2.0
/* A control with the programs of its monitor: probes, tracepoints, socket operations. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u64);
} seen SEC(".maps");

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmission, const struct sock *sk, const struct sk_buff *skb)
{
	u32 key = skb->len;
	u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&seen, &key, &now, BPF_ANY);
	return 0;
}

SEC("kprobe/tcp_close")
int on_close(struct pt_regs *ctx)
{
	char name[16];

	bpf_get_current_comm(&name, sizeof(name));
	return bpf_get_stackid(ctx, &seen, 0) < 0;
}

SEC("sockops")
int on_connection(struct bpf_sock_ops *ops)
{
	char name[] = "tracers_beside";

	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		bpf_sock_ops_cb_flags_set(ops, BPF_SOCK_OPS_RTT_CB_FLAG);
		bpf_setsockopt(ops, 6, 13, name, sizeof(name));
		break;
	}
	return 1;
}

SEC("struct_ops/tracers_cong_avoid")
void BPF_PROG(tracers_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	u32 key = 0;

	if (!bpf_map_lookup_elem(&seen, &key))
		tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/tracers_ssthresh")
u32 BPF_PROG(tracers_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/tracers_undo_cwnd")
u32 BPF_PROG(tracers_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops tracers_beside = {
	.cong_avoid = (void *)tracers_cong_avoid,
	.ssthresh = (void *)tracers_ssthresh,
	.undo_cwnd = (void *)tracers_undo_cwnd,
	.name = "tracers_beside",
};
