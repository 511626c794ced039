// SPDX-License-Identifier: GPL-2.0
/* Every helper that docs/reference/callbacks.md lists. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"

char _license[] SEC("license") = "GPL";

struct guarded {
	struct bpf_spin_lock lock;
	u64 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, struct guarded);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} stored SEC(".maps");

char text[32];
const char other[8] = "cubic";
u64 sum;

static long count(struct bpf_map *map, const u32 *key, struct guarded *value, void *context)
{
	sum++;
	return 0;
}

static long once(u32 index, void *context)
{
	sum += index;
	return 0;
}

SEC("struct_ops")
void BPF_PROG(documented_init, struct sock *sk)
{
	char name[16] = "";
	int size = 1 << 20;

	bpf_setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &size, sizeof(size));
	bpf_getsockopt(sk, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	sum = bpf_strncmp(name, sizeof(name), other);
}

SEC("struct_ops")
void BPF_PROG(documented_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 times = bpf_ktime_get_ns() + bpf_ktime_get_boot_ns() + bpf_ktime_get_coarse_ns() + bpf_ktime_get_tai_ns();
	u32 key = bpf_get_prandom_u32() % 8, cwnd = 0;
	u64 params[1] = {tp->snd_cwnd};
	u64 *own = bpf_sk_storage_get(&stored, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	struct guarded first = {}, *found;
	u64 *event;
	int i;

	bpf_map_update_elem(&numbers, &key, &first, BPF_ANY);
	found = bpf_map_lookup_elem(&numbers, &key);
	if (found) {
		bpf_spin_lock(&found->lock);
		found->count++;
		bpf_spin_unlock(&found->lock);
	}
	bpf_for_each_map_elem(&numbers, count, NULL, 0);
	bpf_map_delete_elem(&numbers, &key);
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (event)
		bpf_ringbuf_submit(event, 0);
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (event)
		bpf_ringbuf_discard(event, 0);
	bpf_ringbuf_output(&ring, params, sizeof(params), 0);
	sum += times + bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	bpf_loop(2, once, NULL, 0);
	bpf_for(i, 0, 2)
		sum += i;
	bpf_repeat(2)
		sum++;
	bpf_snprintf(text, sizeof(text), "%llu", params, sizeof(params));
	if (own && !*own) {
		static const char fmt[] = "%u";

		*own = 1 + bpf_get_smp_processor_id() + bpf_jiffies64() + tcp_jiffies32;
		bpf_printk("%u", tp->snd_cwnd);
		bpf_trace_printk(fmt, sizeof(fmt), tp->snd_cwnd);
	}
	bpf_probe_read_kernel(&cwnd, sizeof(cwnd), &tp->snd_cwnd);
	bpf_probe_read_kernel_str(text, sizeof(text), other);
	sum += bpf_get_current_pid_tgid() + bpf_get_current_task();
	if (BPF_CORE_READ(tp, snd_cwnd) == cwnd && bpf_core_field_exists(tp->snd_cwnd))
		tp->snd_cwnd += acked + BPF_CORE_READ_BITFIELD(tp, repair);
}

SEC("struct_ops")
void BPF_PROG(documented_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		bpf_tcp_send_ack(sk, ((struct tcp_sock *)sk)->rcv_nxt);
}

SEC("struct_ops")
u32 BPF_PROG(documented_ssthresh, struct sock *sk)
{
	return 2;
}

SEC("struct_ops")
void BPF_PROG(documented_release, struct sock *sk)
{
	bpf_sk_storage_delete(&stored, sk);
}

SEC("struct_ops")
u32 BPF_PROG(documented_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops documented = {
	.init = (void *)documented_init,
	.cong_avoid = (void *)documented_cong_avoid,
	.cwnd_event = (void *)documented_cwnd_event,
	.ssthresh = (void *)documented_ssthresh,
	.release = (void *)documented_release,
	.undo_cwnd = (void *)documented_undo_cwnd,
	.name = "documented",
};
