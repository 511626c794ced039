/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel target with -DUNBLOAT_RECORD: every program writes its arguments, the socket before and after, and its result
 * to a ring buffer. A replay in the native build of the same file (crates/mechanism/src/replay.rs) must give the same
 * socket.
 *
 * A program may ask for the time, the jiffies and random numbers more than once. All of them stay at the recorded value
 * while the program runs.
 */
#ifndef UNBLOAT_RECORD_H
#define UNBLOAT_RECORD_H

#include "bpf/bpf_core_read.h"

extern unsigned long CONFIG_HZ __kconfig;

#define UNBLOAT_NAME_BYTES 32
#define UNBLOAT_SAMPLE_BYTES 128
#define UNBLOAT_SOCK_BYTES 3072
#define UNBLOAT_SLOTS 64
#define UNBLOAT_NO_WAKEUP 1 /* BPF_RB_NO_WAKEUP: the reader looks by itself */

/* The helpers' answers during one call. */
struct unbloat_helper_results {
	__u64 ns;
	__u64 jiffies;
	__u64 random;
};

enum unbloat_phase {
	UNBLOAT_BEFORE = 0,
	UNBLOAT_AFTER = 1,
};

/*
 * A snapshot; one call writes two. The reader is crates/agreement/src/recording; sample and socket are the kernel's
 * bytes, laid out as in its BTF.
 */
struct unbloat_snapshot {
	__u64 socket; /* its address */
	__u64 phase;
	__u64 lost; /* snapshots of this object that found no room so far */
	__u64 jiffies_per_second;
	struct unbloat_helper_results helper_results;
	__u64 arguments[3]; /* beside the socket; before */
	__u64 result;	    /* after */
	char program[UNBLOAT_NAME_BYTES];
	__u8 sample[UNBLOAT_SAMPLE_BYTES]; /* what the last argument points to, if it does; before */
	__u8 sock[UNBLOAT_SOCK_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} unbloat_recording SEC(".maps");

/*
 * Number of snapshots that found no room: the ring buffer was full, or the program did not get its lock in time (since
 * Linux 6.15 a lock of BPF's gives up if the processor that holds it is stuck).
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} unbloat_lost SEC(".maps");

/* Per processor. A call that interrupts another puts the other's results back; the reader finds out if one got lost. */
static volatile struct unbloat_helper_results unbloat_helper_results_of[UNBLOAT_SLOTS];

static __always_inline volatile struct unbloat_helper_results *unbloat_helper_results(void)
{
	return &unbloat_helper_results_of[bpf_get_smp_processor_id() % UNBLOAT_SLOTS];
}

static __always_inline __u64 *unbloat_lost_counter(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&unbloat_lost, &only);
}

static __always_inline void unbloat_count_lost(void)
{
	__u64 *lost = unbloat_lost_counter();

	if (lost)
		__sync_fetch_and_add(lost, 1);
}

/*
 * A snapshot with the socket in it, or null. It is handed in before the program goes on, so that the verifier sees one
 * path through the program.
 */
static __always_inline struct unbloat_snapshot *unbloat_take_snapshot(__u64 sk, enum unbloat_phase phase)
{
	__u64 *lost = unbloat_lost_counter();
	struct unbloat_snapshot *to;

	if (!lost)
		return NULL;
	to = bpf_ringbuf_reserve(&unbloat_recording, sizeof(*to), 0);
	if (!to) {
		__sync_fetch_and_add(lost, 1);
		return NULL;
	}
	to->socket = sk;
	to->phase = phase;
	to->lost = *lost;
	to->jiffies_per_second = CONFIG_HZ;
	to->helper_results.ns = unbloat_helper_results()->ns;
	to->helper_results.jiffies = unbloat_helper_results()->jiffies;
	to->helper_results.random = unbloat_helper_results()->random;
	bpf_probe_read_kernel(to->sock, bpf_core_type_size(struct tcp_sock), (const void *)sk);
	return to;
}

static __always_inline __u32 unbloat_largest_sample(void)
{
	__u32 ack = bpf_core_type_size(struct ack_sample), rate = bpf_core_type_size(struct rate_sample);

	return ack > rate ? ack : rate;
}

/*
 * Begins a call; `taken` has what unbloat_take() takes: the context, the socket, and the arguments. Returns the results
 * that it displaces.
 */
static __always_inline struct unbloat_helper_results unbloat_before(const char *program,
								    const unsigned long long *taken, int count)
{
	volatile struct unbloat_helper_results *results = unbloat_helper_results();
	struct unbloat_helper_results displaced = {results->ns, results->jiffies, results->random};

	results->ns = bpf_ktime_get_ns();
	results->jiffies = bpf_jiffies64();
	results->random = bpf_get_prandom_u32();

	struct unbloat_snapshot *to = unbloat_take_snapshot(taken[1], UNBLOAT_BEFORE);

	if (to) {
		for (int i = 2; i <= count; i++)
			to->arguments[i - 2] = taken[i];
		bpf_probe_read_kernel(to->sample, unbloat_largest_sample(), (const void *)taken[count]);
		__builtin_memcpy(to->program, program, sizeof(to->program));
		bpf_ringbuf_submit(to, UNBLOAT_NO_WAKEUP);
	}
	return displaced;
}

static __always_inline void unbloat_after(__u64 sk, __u64 result, const struct unbloat_helper_results *displaced)
{
	volatile struct unbloat_helper_results *helper_results = unbloat_helper_results();
	struct unbloat_snapshot *to = unbloat_take_snapshot(sk, UNBLOAT_AFTER);

	if (to) {
		to->result = result;
		bpf_ringbuf_submit(to, UNBLOAT_NO_WAKEUP);
	}
	helper_results->ns = displaced->ns;
	helper_results->jiffies = displaced->jiffies;
	helper_results->random = displaced->random;
}

/* From here on the helpers return the recorded values. */
#define bpf_ktime_get_ns() (unbloat_helper_results()->ns)
#define bpf_ktime_get_boot_ns() (unbloat_helper_results()->ns)
#define bpf_jiffies64() (unbloat_helper_results()->jiffies)
#undef bpf_get_prandom_u32
#define bpf_get_prandom_u32() ((__u32)unbloat_helper_results()->random)

/* What BPF_PROG does with the function that bears the program's text: calls it between the two. */
#define unbloat_is_void(call) __builtin_types_compatible_p(typeof(call), void)
#define unbloat_value_of(call) __builtin_choose_expr(unbloat_is_void(call), (call, 0ULL), call)
#define unbloat_recorded(name, body, args...)                                                                  \
	_Static_assert(sizeof(#name) <= UNBLOAT_NAME_BYTES, "a program that is recorded has a shorter name");  \
	static const char unbloat_program[UNBLOAT_NAME_BYTES] SEC(".rodata") = #name;                          \
	unsigned long long taken[] = {unbloat_take(body, ##args)};                                             \
	struct unbloat_helper_results displaced = unbloat_before(unbloat_program, taken, unbloat_count(args)); \
	unsigned long long result = unbloat_value_of(body(unbloat_take(body, ##args)));                        \
	unbloat_after(taken[1], result, &displaced);                                                           \
	return (typeof(body(unbloat_take(body, ##args))))result

#endif
