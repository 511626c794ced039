// SPDX-License-Identifier: GPL-2.0
/* libbpf's macros, and helpers that few controls use. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

extern int LINUX_KERNEL_VERSION __kconfig;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__uint(pinning, LIBBPF_PIN_NONE);
	__type(key, u32);
	__type(value, u64);
} few SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

static long add_up(struct bpf_map *map, const u32 *key, u64 *value, u64 *sum)
{
	*sum += *value;
	return 0;
}

char text[32];

SEC("struct_ops")
void BPF_PROG(macros_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	static const char fmt[] = "cwnd %d";
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 key = 1, cwnd = 0, mss = 0;
	u64 two = 2, sum = 0, now = bpf_ktime_get_coarse_ns() + bpf_ktime_get_tai_ns();

	bpf_map_update_elem(&few, &key, &two, BPF_ANY);
	key = 2;
	bpf_map_update_elem(&few, &key, &two, BPF_ANY);
	bpf_for_each_map_elem(&few, add_up, &sum, 0);
	BPF_CORE_READ_INTO(&cwnd, tp, snd_cwnd);
	bpf_core_read(&mss, sizeof(mss), &tp->mss_cache);
	if (bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) == 4096 && sum == 4 && cwnd == tp->snd_cwnd)
		tp->snd_cwnd += acked;
	if (BPF_PROBE_READ(tp, mss_cache) != mss || bpf_get_current_task() == 1 || bpf_get_current_pid_tgid() == 1)
		tp->snd_cwnd = 2;
	if (BPF_SNPRINTF(text, sizeof(text), "%u of %u", cwnd, mss) > 0 && now)
		bpf_trace_printk(fmt, sizeof(fmt), cwnd);
	if (LINUX_KERNEL_VERSION < KERNEL_VERSION(5, 6, 0))
		tp->snd_cwnd = 1;
}

SEC("struct_ops")
u32 BPF_PROG(macros_ssthresh, struct sock *sk)
{
	return 2;
}

SEC("struct_ops")
u32 BPF_PROG(macros_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops library_macros = {
	.cong_avoid = (void *)macros_cong_avoid,
	.ssthresh = (void *)macros_ssthresh,
	.undo_cwnd = (void *)macros_undo_cwnd,
	.name = "library_macros",
};
