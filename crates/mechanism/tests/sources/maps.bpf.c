/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A control that keeps its numbers in maps: hash, array, and a ring buffer that nobody reads. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"

char _license[] SEC("license") = "GPL";

struct pair {
	__u64 cookie;
	__u32 what;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__type(key, __u64);
	__type(value, struct pair);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} cookies SEC(".maps");

static __u64 latest;

/* A number of the socket, from 1. */
static __always_inline __u64 cookie_of(struct sock *sk)
{
	__u64 *cookie = bpf_sk_storage_get(&cookies, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (cookie && !*cookie)
		*cookie = ++latest;
	return cookie ? *cookie : 0;
}

SEC("struct_ops")
void BPF_PROG(remember, struct sock *sk)
{
	__u64 cookie = cookie_of(sk);
	struct pair pair = {.cookie = cookie, .what = 7};

	tcp_sk(sk)->snd_ssthresh = -bpf_map_update_elem(&seen, &cookie, &pair, BPF_NOEXIST);
}

SEC("struct_ops")
void BPF_PROG(forget, struct sock *sk)
{
	__u64 cookie = cookie_of(sk);

	bpf_map_delete_elem(&seen, &cookie);
}

SEC("struct_ops")
void BPF_PROG(count, struct sock *sk, __u32 ack, __u32 acked)
{
	__u32 *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);
	__u64 *counted = bpf_map_lookup_elem(&counts, &ack);
	int i;

	if (record)
		bpf_ringbuf_submit(record, 0);
	if (!counted) {
		tcp_sk(sk)->snd_cwnd = 1;
		return;
	}
	bpf_for(i, 0, 2) *counted += acked;
	tcp_sk(sk)->snd_cwnd = *counted;
}

SEC("struct_ops")
__u32 BPF_PROG(recall, struct sock *sk)
{
	__u64 cookie = cookie_of(sk);
	struct pair *pair = bpf_map_lookup_elem(&seen, &cookie);

	return pair ? pair->what + pair->cookie : 0;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops maps = {
	.init = (void *)remember,
	.release = (void *)forget,
	.cong_avoid = (void *)count,
	.ssthresh = (void *)recall,
	.undo_cwnd = (void *)recall,
	.name = "test_maps",
};
