/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The companion header that congestion controls were written against from Linux 5.6 to 6.8. */
#ifndef __BPF_TCP_HELPERS_H
#define __BPF_TCP_HELPERS_H

#include "bpf/bpf_tracing.h"
#include "bpf_tracing_net.h"

#define BPF_STRUCT_OPS(name, args...) SEC("struct_ops/" #name) BPF_PROG(name, args)

/* Linux 5.6 only: the types and the names of the arguments apart by commas. */
#define BPF_TCP_OPS_0(name, ret, ...) SEC("struct_ops/" #name) ret BPF_PROG(name)
#define BPF_TCP_OPS_1(name, ret, t1, a1) SEC("struct_ops/" #name) ret BPF_PROG(name, t1 a1)
#define BPF_TCP_OPS_2(name, ret, t1, a1, t2, a2) SEC("struct_ops/" #name) ret BPF_PROG(name, t1 a1, t2 a2)
#define BPF_TCP_OPS_3(name, ret, t1, a1, t2, a2, t3, a3) \
	SEC("struct_ops/" #name) ret BPF_PROG(name, t1 a1, t2 a2, t3 a3)
#define BPF_TCP_OPS_4(name, ret, t1, a1, t2, a2, t3, a3, t4, a4) \
	SEC("struct_ops/" #name) ret BPF_PROG(name, t1 a1, t2 a2, t3 a3, t4 a4)

#endif
