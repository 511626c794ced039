/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel target of bpf/bpf_helpers.h: helper calls by number (include/uapi/linux/bpf.h, part of the kernel's stable
 * interface).
 */
#ifndef UNBLOAT_HELPERS_KERNEL_H
#define UNBLOAT_HELPERS_KERNEL_H

#include "unbloat/splitmix64.h"

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define bpf_ksym_exists(sym) (!!sym)

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static __u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_trace_printk)(const char *fmt, __u32 fmt_size, ...) = (void *)6;
static long (*const bpf_setsockopt)(void *sk, int level, int optname, void *optval, int optlen) = (void *)49;
static long (*const bpf_getsockopt)(void *sk, int level, int optname, void *optval, int optlen) = (void *)57;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value, __u64 flags) = (void *)107;
static long (*const bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
static long (*const bpf_tcp_send_ack)(void *tp, __u32 rcv_nxt) = (void *)116;
static __u64 (*const bpf_jiffies64)(void) = (void *)118;
static __u64 (*const bpf_get_socket_cookie)(void *sk) = (void *)46;
static __u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static long (*const bpf_probe_read_kernel)(void *to, __u32 size, const void *from) = (void *)113;
static long (*const bpf_ringbuf_output)(void *map, void *record, __u64 size, __u64 flags) = (void *)130;
static void *(*const bpf_ringbuf_reserve)(void *map, __u64 size, __u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *record, __u64 flags) = (void *)132;
static void (*const bpf_ringbuf_discard)(void *record, __u64 flags) = (void *)133;
static __u64 (*const bpf_ktime_get_boot_ns)(void) = (void *)125;
static long (*const bpf_loop)(__u32 rounds, void *body, void *ctx, __u64 flags) = (void *)181;

/*
 * A run over emulated links draws what the simulator draws with the same seed (splitmix64, as in runtime.c); whoever
 * loads a program to stay has the kernel's own generator. The loader sets both constants, and the verifier drops the
 * branch that is not taken.
 */
static const volatile bool unbloat_is_seeded = false;
static const volatile __u64 unbloat_seed = 0;
static __u64 unbloat_draws;

static __always_inline __u32 bpf_get_prandom_u32(void)
{
	static __u32 (*const of_the_kernel)(void) = (void *)7;

	if (!unbloat_is_seeded)
		return of_the_kernel();
	return unbloat_splitmix64(unbloat_seed + ++unbloat_draws * UNBLOAT_SPLITMIX64_STEP);
}

#define bpf_printk(fmt, args...)                                                  \
	({                                                                        \
		static const char unbloat_format[] = fmt;                         \
		bpf_trace_printk(unbloat_format, sizeof(unbloat_format), ##args); \
	})

#endif
