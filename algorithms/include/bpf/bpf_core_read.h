/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Access to members whose place, size or existence differs between kernels. Natively every declared member is where it
 * is declared.
 */
#ifndef UNBLOAT_BPF_CORE_READ_H
#define UNBLOAT_BPF_CORE_READ_H

#include "bpf/bpf_helpers.h"

#ifdef __bpf__
#include "libbpf/bpf_core_read.h"
#else
#include "unbloat/core_read_native.h"
#endif

#endif
