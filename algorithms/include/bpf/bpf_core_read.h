/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Access to members whose place, size or existence differs between kernels. Natively every declared member is where it
 * is declared.
 */
#ifndef __BPF_CORE_READ_H__
#define __BPF_CORE_READ_H__

#include "vmlinux.h"

#ifdef __bpf__
#include "unbloat/core_read_kernel.h"
#else
#include "unbloat/core_read_native.h"
#endif

#endif
