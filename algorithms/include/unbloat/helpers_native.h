/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Native target of bpf/bpf_helpers.h: the simulator's helpers. runtime.c has their state and the longer ones.
 */
#ifndef UNBLOAT_HELPERS_NATIVE_H
#define UNBLOAT_HELPERS_NATIVE_H

#include "errno.h"

/* libbpf's macros, without those that only matter to a loader or a verifier. */
#include "libbpf/bpf_helpers.h"
#undef SEC
#define SEC(name) __attribute__((section(name), used))
#undef __ksym
#define __ksym
#undef __kconfig
#define __kconfig
#undef __kptr
#define __kptr
#undef __kptr_untrusted
#define __kptr_untrusted
#undef __percpu_kptr
#define __percpu_kptr
#undef __uptr
#define __uptr
#undef __arg_ctx
#undef __arg_nonnull
#undef __arg_nullable
#undef __arg_trusted
#undef __arg_untrusted
#define __arg_ctx
#define __arg_nonnull
#define __arg_nullable
#define __arg_trusted
#define __arg_untrusted
#undef bpf_ksym_exists
#define bpf_ksym_exists(sym) (!!(sym))
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#ifndef __maybe_unused
#define __maybe_unused __attribute__((unused))
#endif

/*
 * Jiffies a second. The simulator's are fixed, so that the compiler divides by a constant; a replay has those of the
 * kernel recorded.
 */
#ifndef UNBLOAT_HZ
#define UNBLOAT_HZ 250UL
#endif

/* One per loaded instance: the caller sets the clock before a callback and the seed once. */
struct unbloat_instance {
	__u64 now;	/* ns since the start of the run */
	__u64 random;	/* state of splitmix64; with -DUNBLOAT_REPLAY the number that was drawn */
	__u64 traces;	/* bpf_printk() prints to standard error unless zero */
	__u64 jiffies;	/* with -DUNBLOAT_REPLAY */
	__u64 callback; /* the number of the latest one's kind */
	/* End the run from within a callback; `divisor` is what was divided by, `bits` how far was shifted. */
	void (*division_fault)(struct unbloat_instance *instance, const char *file, __u32 line, __u64 divisor);
	void (*shift_fault)(struct unbloat_instance *instance, const char *file, __u32 line, __s64 bits);
	const void *identity; /* the caller's */
};
extern struct unbloat_instance unbloat_instance __hidden;

static inline __u64 bpf_ktime_get_ns(void)
{
	return unbloat_instance.now;
}

#define bpf_ktime_get_boot_ns() bpf_ktime_get_ns()
#define bpf_ktime_get_coarse_ns() bpf_ktime_get_ns()
#define bpf_ktime_get_tai_ns() bpf_ktime_get_ns()

#ifdef UNBLOAT_REPLAY
static inline __u64 bpf_jiffies64(void)
{
	return unbloat_instance.jiffies;
}

static inline __u32 bpf_get_prandom_u32(void)
{
	return unbloat_instance.random;
}
#else
static inline __u64 bpf_jiffies64(void)
{
	return unbloat_instance.now / (1000000000 / UNBLOAT_HZ);
}

__u32 bpf_get_prandom_u32(void) __hidden;
#endif
long bpf_setsockopt(void *sk, int level, int optname, void *optval, int optlen) __hidden;
long bpf_getsockopt(void *sk, int level, int optname, void *optval, int optlen) __hidden;
long bpf_tcp_send_ack(void *tp, __u32 rcv_nxt) __hidden;
long bpf_loop(__u32 rounds, void *body, void *ctx, __u64 flags) __hidden;
void unbloat_print(const char *fmt, ...) __hidden __attribute__((format(printf, 1, 2)));

/* A map's value has the size of its type; the map's address is its identity. */
void *unbloat_storage_get(const void *map, size_t size, void *sk, const void *initial, __u64 flags) __hidden;
long unbloat_storage_delete(const void *map, void *sk) __hidden;
#define bpf_sk_storage_get(map, sk, initial, flags) \
	unbloat_storage_get((map), sizeof(*(map)->value), (sk), (initial), (flags))
#define bpf_sk_storage_delete(map, sk) unbloat_storage_delete((map), (sk))

/* Hash and array maps. A ring buffer has no reader here: it is always full. */
struct unbloat_map {
	const void *identity;
	size_t key_size, value_size;
	__u32 max_entries;
	bool is_array;
};
#define unbloat_map_of(map)                                                                                          \
	((struct unbloat_map){(map), sizeof(*(map)->key), sizeof(*(map)->value), unbloat_number((map)->max_entries), \
			      unbloat_number((map)->type) == BPF_MAP_TYPE_ARRAY ||                                   \
				      unbloat_number((map)->type) == BPF_MAP_TYPE_PERCPU_ARRAY})
#define unbloat_number(member) (sizeof(*(member)) / sizeof(int)) /* __uint(name, n) declares int (*name)[n] */
void *unbloat_map_lookup(struct unbloat_map map, const void *key) __hidden;
long unbloat_map_update(struct unbloat_map map, const void *key, const void *value, __u64 flags) __hidden;
long unbloat_map_delete(struct unbloat_map map, const void *key) __hidden;
#define bpf_map_lookup_elem(map, key) unbloat_map_lookup(unbloat_map_of(map), (key))
#define bpf_map_update_elem(map, key, new_value, flags) \
	unbloat_map_update(unbloat_map_of(map), (key), (new_value), (flags))
#define bpf_map_delete_elem(map, key) unbloat_map_delete(unbloat_map_of(map), (key))
#define bpf_ringbuf_reserve(map, size, flags) ((void *)((void)(map), (void)(size), (void)(flags), NULL))
#define bpf_ringbuf_submit(record, flags) ((void)(record), (void)(flags))
#define bpf_ringbuf_discard(record, flags) ((void)(record), (void)(flags))
static inline long unbloat_ringbuf_output(const void *map, const void *record, __u64 size, __u64 flags)
{
	return -EAGAIN;
}
#define bpf_ringbuf_output(map, record, size, flags) unbloat_ringbuf_output((map), (record), (size), (flags))
#define bpf_ringbuf_query(map, flags) unbloat_ringbuf_query(unbloat_number((map)->max_entries), (flags))
__u64 unbloat_ringbuf_query(__u64 bytes, __u64 flags) __hidden;
#define bpf_for_each_map_elem(map, body, ctx, flags) \
	unbloat_for_each_map_elem(unbloat_map_of(map), (void *)(body), (ctx), (flags))
long unbloat_for_each_map_elem(struct unbloat_map map, void *body, void *ctx, __u64 flags) __hidden;

#define bpf_spin_lock(lock) ((void)(lock))
#define bpf_spin_unlock(lock) ((void)(lock))
#define bpf_get_smp_processor_id() 0U
/* No process is at work when a packet comes in. */
#define bpf_get_current_pid_tgid() 0ULL
#define bpf_get_current_task() 0ULL
static inline long bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	__builtin_memcpy(to, from, size);
	return 0;
}
long bpf_probe_read_kernel_str(void *to, __u32 size, const void *from) __hidden;
long bpf_strncmp(const char *text, __u32 size, const char *other) __hidden;
long bpf_snprintf(char *to, __u32 size, const char *fmt, __u64 *data, __u32 bytes) __hidden;
#undef bpf_for
#define bpf_for(i, start, end)                                                                                 \
	for (int unbloat_at = (start), unbloat_end = (end); unbloat_at < unbloat_end && ((i) = unbloat_at, 1); \
	     unbloat_at++)
#undef bpf_repeat
#define bpf_repeat(times) for (int unbloat_times = (times); unbloat_times > 0; unbloat_times--)
#define can_loop 1
#define cond_break ((void)0)

/*
 * Helpers that no congestion control may call, or that the simulator does not have. The compiler refuses them with the
 * line of the call.
 */
#include "unbloat/helpers_elsewhere.h"

#define bpf_trace_printk(fmt, size, args...)           \
	({                                             \
		if (unlikely(unbloat_instance.traces)) \
			unbloat_print((fmt), ##args);  \
		0L;                                    \
	})
#undef bpf_printk
#define bpf_printk(fmt, args...)                         \
	do {                                             \
		if (unlikely(unbloat_instance.traces))   \
			unbloat_print(fmt "\n", ##args); \
	} while (0)

#endif
