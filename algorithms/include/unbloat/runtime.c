/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Native target: the helpers that keep state. Every shared object links them, so each loaded instance has its own
 * clock, generator and storage. Nothing here knows the simulator. Work that the simulator must do later is in `sim` of
 * the socket.
 */
#include "unbloat/runtime.h"
#include "unbloat/splitmix64.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unbloat_instance unbloat_instance;

unsigned long CONFIG_HZ __weak = UNBLOAT_HZ;
/* The version of the simulated TCP. */
int LINUX_KERNEL_VERSION __weak = KERNEL_VERSION(6, 12, 0);

#ifndef UNBLOAT_REPLAY
__u32 bpf_get_prandom_u32(void)
{
	return unbloat_splitmix64(unbloat_instance.random += UNBLOAT_SPLITMIX64_STEP);
}
#endif

/* The simulator sends the acknowledgement after the callback. */
long bpf_tcp_send_ack(void *tp, __u32 rcv_nxt)
{
	struct tcp_sock *sock = tp;

	sock->sim.send_ack_pending = 1;
	sock->sim.send_ack_rcv_nxt = rcv_nxt;
	return 0;
}

/*
 * A program cannot switch to another congestion control: it gets the answer of a kernel that does not have it. There is
 * no other option.
 */
long bpf_setsockopt(void *sk, int level, int optname, void *optval, int optlen)
{
	return level == SOL_TCP && optname == TCP_CONGESTION ? -ENOENT : -ENOPROTOOPT;
}

long bpf_getsockopt(void *sk, int level, int optname, void *optval, int optlen)
{
	if (optlen > 0)
		memset(optval, 0, optlen);
	return -ENOPROTOOPT;
}

/* At most 2^23 rounds, as the kernel; `body` ends it by returning 1. Returns the rounds that ran. */
long bpf_loop(__u32 rounds, void *body, void *ctx, __u64 flags)
{
	long (*step)(__u32 index, void *ctx) = body;

	if (flags)
		return -EINVAL;
	if (rounds > 1u << 23)
		return -E2BIG;
	for (__u32 i = 0; i < rounds; i++)
		if (step(i, ctx))
			return i + 1;
	return rounds;
}

void unbloat_print(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%llu.%06llu: ", unbloat_instance.now / 1000000000, unbloat_instance.now / 1000 % 1000000);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
}

/* At most 12 numbers of 64 bits follow the format; the kernel's own %p conversions are not made. Returns the length. */
long bpf_snprintf(char *to, __u32 size, const char *fmt, __u64 *data, __u32 bytes)
{
	__u64 d[12] = {};

	if (bytes % sizeof(*d) || bytes > sizeof(d))
		return -EINVAL;
	if (bytes)
		memcpy(d, data, bytes);
	return 1 + snprintf(to, size, fmt, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8], d[9], d[10], d[11]);
}

/* Bytes that were copied, the zero included. */
long bpf_probe_read_kernel_str(void *to, __u32 size, const void *from)
{
	if (!size)
		return 0;
	__u32 length = strnlen(from, size - 1);

	memcpy(to, from, length);
	((char *)to)[length] = 0;
	return length + 1;
}

long bpf_strncmp(const char *text, __u32 size, const char *other)
{
	return strncmp(text, other, size);
}

/* A ring without a reader: all of it waits. */
__u64 unbloat_ringbuf_query(__u64 bytes, __u64 flags)
{
	return flags == BPF_RB_AVAIL_DATA || flags == BPF_RB_RING_SIZE ? bytes : 0;
}

/*
 * The handler of a compiler's check of divisions (-fsanitize=integer-divide-by-zero); `where` begins with the place in
 * the source. eBPF defines x / 0 as 0 and x % 0 as x; the simulator stops, because no author means either.
 */
struct unbloat_place {
	const char *file;
	__u32 line;
	__u32 column;
};

__attribute__((noreturn)) void __ubsan_handle_divrem_overflow_abort(const struct unbloat_place *where,
								    unsigned long dividend, unsigned long divisor)
{
	unbloat_instance.division_fault(&unbloat_instance, where->file, where->line, divisor);
	__builtin_unreachable();
}

/* A number of bits of 32 bits or less is passed as it is (-fsanitize=shift-exponent). */
__attribute__((noreturn)) void __ubsan_handle_shift_out_of_bounds_abort(const struct unbloat_place *where,
									unsigned long shifted, long bits)
{
	unbloat_instance.shift_fault(&unbloat_instance, where->file, where->line, bits);
	__builtin_unreachable();
}

/*
 * A socket's storage is a list of one value for each map that has one. Every value is in the instance's list as well.
 */
struct stored {
	struct stored *next;
	struct stored *before, *behind; /* in `all_stored` */
	const void *map;
	_Alignas(16) unsigned char value[];
};

static struct stored *all_stored;

static void keep(struct stored *entry)
{
	entry->behind = all_stored;
	if (all_stored)
		all_stored->before = entry;
	all_stored = entry;
}

static void drop(struct stored *entry)
{
	if (entry->before)
		entry->before->behind = entry->behind;
	else
		all_stored = entry->behind;
	if (entry->behind)
		entry->behind->before = entry->before;
	free(entry);
}

void *unbloat_storage_get(const void *map, size_t size, void *sk, const void *initial, __u64 flags)
{
	struct tcp_sock *tp = sk;
	struct stored *entry;

	for (entry = tp->sim.storage; entry; entry = entry->next)
		if (entry->map == map)
			return entry->value;
	if (!(flags & BPF_SK_STORAGE_GET_F_CREATE))
		return NULL;
	entry = calloc(1, sizeof(*entry) + size);
	if (!entry)
		return NULL;
	if (initial)
		memcpy(entry->value, initial, size);
	entry->map = map;
	entry->next = tp->sim.storage;
	tp->sim.storage = entry;
	keep(entry);
	return entry->value;
}

long unbloat_storage_delete(const void *map, void *sk)
{
	struct tcp_sock *tp = sk;
	struct stored **link = (struct stored **)&tp->sim.storage;

	for (; *link; link = &(*link)->next)
		if ((*link)->map == map) {
			struct stored *entry = *link;

			*link = entry->next;
			drop(entry);
			return 0;
		}
	return -ENOENT;
}

/* Frees a socket's storage, after the congestion control's own release(). */
static void unbloat_storage_free(struct tcp_sock *tp)
{
	struct stored *entry = tp->sim.storage;

	while (entry) {
		struct stored *next = entry->next;

		drop(entry);
		entry = next;
	}
	tp->sim.storage = NULL;
}

/*
 * Frees the instance's storage. Sockets are not released when a run is interrupted or ends with a fault.
 */
__attribute__((destructor)) static void free_all_stored(void)
{
	while (all_stored)
		drop(all_stored);
}

const struct unbloat_runtime unbloat_runtime = {
	.instance = &unbloat_instance,
	.storage_free = unbloat_storage_free,
	.map_fill = unbloat_map_fill,
};
