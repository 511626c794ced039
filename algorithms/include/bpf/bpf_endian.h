/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libbpf's, on both targets. */
#ifndef UNBLOAT_BPF_ENDIAN_H
#define UNBLOAT_BPF_ENDIAN_H

#include "vmlinux.h"
#include "libbpf/bpf_endian.h"

#endif
