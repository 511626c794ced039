/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Native target: what the shared object offers to the program that opens it, besides the congestion control itself. */
#ifndef UNBLOAT_RUNTIME_H
#define UNBLOAT_RUNTIME_H

#define UNBLOAT_RUNTIME
#include "bpf/bpf_helpers.h"
#include "bpf_tracing_net.h"
#include "errno.h"

/* A file that gives one of its programs the name of a kernel function keeps it. */
#define KERNEL_FUNCTION __attribute__((weak, visibility("hidden")))

struct unbloat_runtime {
	struct unbloat_instance *instance;
	void (*storage_free)(struct tcp_sock *tp);
	long (*map_fill)(const struct unbloat_map *map, const void *key, const void *value);
};
long unbloat_map_fill(const struct unbloat_map *map, const void *key, const void *value) __hidden;
extern const struct unbloat_runtime unbloat_runtime __attribute__((visibility("default")));

#endif
