/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Native target of bpf/bpf_core_read.h: libbpf's macros over plain member access. Every declared member exists. */
#ifndef UNBLOAT_CORE_READ_NATIVE_H
#define UNBLOAT_CORE_READ_NATIVE_H

#include "libbpf/bpf_core_read.h"

#undef BPF_CORE_READ_BITFIELD
#define BPF_CORE_READ_BITFIELD(s, member) ((unsigned long long)(s)->member)
#undef BPF_CORE_READ_BITFIELD_PROBED
#define BPF_CORE_READ_BITFIELD_PROBED(s, member) BPF_CORE_READ_BITFIELD(s, member)
#undef BPF_CORE_WRITE_BITFIELD
#define BPF_CORE_WRITE_BITFIELD(s, member, value) ((void)((s)->member = (value)))

#undef BPF_CORE_READ
#define BPF_CORE_READ(s, a...) (___arrow((s), ##a))
#undef BPF_PROBE_READ
#define BPF_PROBE_READ(s, a...) BPF_CORE_READ(s, ##a)
#undef BPF_CORE_READ_INTO
#define BPF_CORE_READ_INTO(to, s, a...) bpf_core_read((to), sizeof(*(to)), &___arrow((s), ##a))
#undef BPF_PROBE_READ_INTO
#define BPF_PROBE_READ_INTO(to, s, a...) BPF_CORE_READ_INTO(to, s, ##a)
#undef BPF_CORE_READ_STR_INTO
#define BPF_CORE_READ_STR_INTO(to, s, a...) bpf_core_read_str((to), sizeof(*(to)), ___arrow((s), ##a))
#undef BPF_PROBE_READ_STR_INTO
#define BPF_PROBE_READ_STR_INTO(to, s, a...) BPF_CORE_READ_STR_INTO(to, s, ##a)

#undef bpf_core_read
#define bpf_core_read(to, size, from) bpf_probe_read_kernel((to), (size), (from))
#undef bpf_core_read_str
#define bpf_core_read_str(to, size, from) bpf_probe_read_kernel_str((to), (size), (from))
#undef bpf_core_cast
#define bpf_core_cast(pointer, type) ((typeof(type) *)(pointer))

#undef bpf_core_field_exists
#define bpf_core_field_exists(field...) (sizeof(*___bpf_field_ref(field)) > 0)
#undef bpf_core_field_size
#define bpf_core_field_size(field...) sizeof(*___bpf_field_ref(field))
#undef bpf_core_field_offset
#define bpf_core_field_offset(field...) ((unsigned long)___bpf_field_ref(field))
#undef ___bpf_field_ref1
#define ___bpf_field_ref1(field) (&(field))
#undef ___bpf_field_ref2
#define ___bpf_field_ref2(type, field) (&((typeof(type) *)0)->field)
#undef bpf_core_type_exists
#define bpf_core_type_exists(type) 1
#undef bpf_core_type_matches
#define bpf_core_type_matches(type) 1
#undef bpf_core_type_size
#define bpf_core_type_size(type) sizeof(type)
#undef bpf_core_enum_value_exists
#define bpf_core_enum_value_exists(type, value) 1
#undef bpf_core_enum_value
#define bpf_core_enum_value(type, value) (value)

#endif
