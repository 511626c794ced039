/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Native target of bpf/bpf_core_read.h: plain member access. */
#ifndef UNBLOAT_CORE_READ_NATIVE_H
#define UNBLOAT_CORE_READ_NATIVE_H

#include "unbloat/core_read_path.h"

#define BPF_CORE_READ_BITFIELD(s, member) ((unsigned long long)(s)->member)
#define BPF_CORE_READ_BITFIELD_PROBED(s, member) BPF_CORE_READ_BITFIELD(s, member)
#define BPF_CORE_WRITE_BITFIELD(s, member, value) ((void)((s)->member = (value)))

#define bpf_core_read(to, size, from) (__builtin_memcpy((to), (from), (size)), 0)
#define bpf_core_field_exists(member...) 1
#define bpf_core_field_size(s, member) sizeof((s)->member)
#define bpf_core_type_exists(type) 1
#define bpf_core_type_size(type) sizeof(type)
#define bpf_core_enum_value_exists(type, value) 1
#define bpf_core_enum_value(type, value) (value)
#define bpf_core_cast(pointer, type) ((type *)(pointer))

#endif
