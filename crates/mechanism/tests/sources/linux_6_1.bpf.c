/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * As congestion controls were written from Linux 5.13 to 6.8: bpf_tcp_helpers.h, BPF_STRUCT_OPS, socket storage, kernel
 * functions, a constant of the kernel's configuration, an incomplete control before the complete one.
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <linux/stddef.h>
#include <linux/tcp.h>
#include <errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tcp_helpers.h"

char _license[] SEC("license") = "GPL";

extern unsigned long CONFIG_HZ __kconfig;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

struct memory {
	__u64 losses;
	__u32 last_jiffies;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct memory);
} memories SEC(".maps");

const volatile __u32 floor_cwnd = 2;
static const char elsewhere[] = "cdg";

SEC("struct_ops/remember_init")
void BPF_PROG(remember_init, struct sock *sk)
{
	struct memory fresh = {.losses = 100};

	if (bpf_sk_storage_get(&memories, sk, NULL, 0))
		bpf_sk_storage_delete(&memories, sk);
	bpf_sk_storage_get(&memories, sk, &fresh, BPF_SK_STORAGE_GET_F_CREATE);
	if (bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, (void *)elsewhere, sizeof(elsewhere)) != -ENOENT)
		tcp_sk(sk)->snd_cwnd = 1;
}

__u32 BPF_STRUCT_OPS(remember_ssthresh, struct sock *sk)
{
	struct memory *memory = bpf_sk_storage_get(&memories, sk, 0, 0);

	if (!memory)
		return 1;
	memory->losses++;
	memory->last_jiffies = tcp_jiffies32 * (1000 / CONFIG_HZ);
	return max((__u32)memory->losses, floor_cwnd);
}

void BPF_STRUCT_OPS(remember_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

void BPF_STRUCT_OPS(remember_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE && inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER)
		bpf_tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt);
}

__u32 BPF_STRUCT_OPS(remember_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops incomplete = {
	.init = (void *)remember_init,
	.name = "test_incomplete",
};

SEC(".struct_ops")
struct tcp_congestion_ops remember = {
	.init = (void *)remember_init,
	.ssthresh = (void *)remember_ssthresh,
	.cong_avoid = (void *)remember_cong_avoid,
	.cwnd_event = (void *)remember_cwnd_event,
	.undo_cwnd = (void *)remember_undo,
	.flags = TCP_CONG_NEEDS_ECN,
	.name = "test_6_1",
};
