// SPDX-License-Identifier: GPL-2.0
/* Counts by connection, as monitoring does. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#define BPF_STRUCT_OPS(name, args...) SEC("struct_ops/" #name) BPF_PROG(name, args)
#define AF_INET 0x2

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct connection {
	__be32 saddr, daddr;
	__be16 sport, dport;
	u32 netns;
};

struct counts {
	u64 acks, bytes;
	u32 mark, protocol;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct connection);
	__type(value, struct counts);
} counted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} total SEC(".maps");

extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

void BPF_STRUCT_OPS(connections_init, struct sock *sk)
{
	cubictcp_init(sk);
}

void BPF_STRUCT_OPS(connections_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct inet_sock *inet = (struct inet_sock *)sk;
	struct connection connection = {
		.saddr = inet->inet_saddr,
		.daddr = sk->__sk_common.skc_daddr,
		.sport = inet->inet_sport,
		.dport = sk->__sk_common.skc_dport,
		.netns = sk->__sk_common.skc_bound_dev_if,
	};
	struct counts *counts, first = { .acks = 0 };
	u32 zero = 0;
	u64 *all = bpf_map_lookup_elem(&total, &zero);

	if (all)
		__sync_fetch_and_add(all, acked);
	counts = bpf_map_lookup_elem(&counted, &connection);
	if (!counts) {
		bpf_map_update_elem(&counted, &connection, &first, BPF_NOEXIST);
		counts = bpf_map_lookup_elem(&counted, &connection);
	}
	if (counts) {
		counts->acks++;
		counts->bytes += bpf_ntohs(connection.dport) + (u64)acked * ((struct tcp_sock *)sk)->mss_cache;
		counts->mark = sk->sk_mark;
		counts->protocol = sk->__sk_common.skc_family == AF_INET ? IPPROTO_TCP : 0;
	}
	cubictcp_cong_avoid(sk, ack, acked);
}

u32 BPF_STRUCT_OPS(connections_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

u32 BPF_STRUCT_OPS(connections_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops connections = {
	.init = (void *)connections_init,
	.cong_avoid = (void *)connections_cong_avoid,
	.ssthresh = (void *)connections_ssthresh,
	.undo_cwnd = (void *)connections_undo_cwnd,
	.name = "connections",
};
