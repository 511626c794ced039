/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A control whose settings a companion program writes into maps before it runs. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"

char _license[] SEC("license") = "GPL";

struct limit {
	__u8 enabled;
	__s16 offset;
	__u32 least[2];
};

struct route {
	__u16 port;
	__u32 address;
};

struct mark {
	void *where;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} rates SEC(".maps");

#define HASH_OF(name, key_type, value_type, entries) \
	struct {                                     \
		__uint(type, BPF_MAP_TYPE_HASH);     \
		__uint(max_entries, entries);        \
		__type(key, key_type);               \
		__type(value, value_type);           \
	} name SEC(".maps")

HASH_OF(limits, const struct route, struct limit, 2);
HASH_OF(marks, __u32, struct mark, 1);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

/* A window of as many segments as the rate has bytes a second. */
SEC("struct_ops")
void BPF_PROG(filled_init, struct sock *sk)
{
	__u32 second = 1;
	__u64 *rate = bpf_map_lookup_elem(&rates, &second);

	if (rate && *rate)
		tcp_sk(sk)->snd_cwnd = *rate;
}

SEC("struct_ops")
void BPF_PROG(filled_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
}

SEC("struct_ops")
__u32 BPF_PROG(filled_ssthresh, struct sock *sk)
{
	struct route route;
	struct limit *limit;
	__u32 zero = 0;

	__builtin_memset(&route, 0, sizeof(route));
	route.port = 80;
	route.address = 0x7f000001;
	limit = bpf_map_lookup_elem(&limits, &route);
	if (bpf_map_lookup_elem(&marks, &zero) || !limit || !limit->enabled)
		return 2;
	return limit->least[1] + limit->offset;
}

SEC("struct_ops")
__u32 BPF_PROG(filled_undo, struct sock *sk)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&scratch, &zero);
	__u64 *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (event)
		bpf_ringbuf_submit(event, 0);
	return tcp_sk(sk)->snd_cwnd + (count ? *count : 0);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops filled = {
	.init = (void *)filled_init,
	.cong_avoid = (void *)filled_avoid,
	.ssthresh = (void *)filled_ssthresh,
	.undo_cwnd = (void *)filled_undo,
	.name = "filled",
};
