/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Native target of bpf/bpf_helpers.h: the helpers as the simulator means them. State and the longer ones are in runtime.c. */
#ifndef UNBLOAT_HELPERS_NATIVE_H
#define UNBLOAT_HELPERS_NATIVE_H

#define SEC(name) __attribute__((section(name), used))
#define __ksym
#define __kconfig
#define __kptr
#define bpf_ksym_exists(sym) (!!(sym))

/* One per loaded instance: the caller sets the clock before a callback and the seed once. */
struct unbloat_instance {
	__u64 now;    /* ns since the start of the run */
	__u64 random; /* state of splitmix64 */
	__u64 traces; /* bpf_printk() prints to standard error unless zero */
};
extern struct unbloat_instance unbloat_instance __hidden;

static inline __u64 bpf_ktime_get_ns(void)
{
	return unbloat_instance.now;
}

static inline __u64 bpf_ktime_get_boot_ns(void)
{
	return unbloat_instance.now;
}

/* CONFIG_HZ is 1000. */
static inline __u64 bpf_jiffies64(void)
{
	return unbloat_instance.now / 1000000;
}

__u32 bpf_get_prandom_u32(void) __hidden;
long bpf_setsockopt(void *sk, int level, int optname, void *optval, int optlen) __hidden;
long bpf_getsockopt(void *sk, int level, int optname, void *optval, int optlen) __hidden;
long bpf_tcp_send_ack(void *tp, __u32 rcv_nxt) __hidden;
long bpf_loop(__u32 rounds, void *body, void *ctx, __u64 flags) __hidden;
void unbloat_print(const char *fmt, ...) __hidden __attribute__((format(printf, 1, 2)));

/* A map's value has the size of its type; the map's address is its identity. */
void *unbloat_storage_get(const void *map, size_t size, void *sk, const void *initial, __u64 flags) __hidden;
long unbloat_storage_delete(const void *map, void *sk) __hidden;
#define bpf_sk_storage_get(map, sk, initial, flags) unbloat_storage_get((map), sizeof(*(map)->value), (sk), (initial), (flags))
#define bpf_sk_storage_delete(map, sk) unbloat_storage_delete((map), (sk))

#define bpf_printk(fmt, args...)                              \
	do {                                                  \
		if (unlikely(unbloat_instance.traces))        \
			unbloat_print(fmt "\n", ##args);      \
	} while (0)

#endif
