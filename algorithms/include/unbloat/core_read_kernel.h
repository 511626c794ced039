/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernel target of bpf/bpf_core_read.h: what clang's builtins leave to be filled in when the program is loaded. */
#ifndef UNBLOAT_CORE_READ_KERNEL_H
#define UNBLOAT_CORE_READ_KERNEL_H

#include "unbloat/core_read_path.h"

/* Kinds of question to __builtin_preserve_field_info(). */
enum {
	UNBLOAT_FIELD_OFFSET = 0,
	UNBLOAT_FIELD_SIZE = 1,
	UNBLOAT_FIELD_EXISTS = 2,
	UNBLOAT_FIELD_SHIFT_LEFT = 4,
	UNBLOAT_FIELD_SHIFT_RIGHT = 5,
};

/* An unsigned bit-field: load the bytes around it, shift what stands above it out, shift it down. */
#define BPF_CORE_READ_BITFIELD(s, member)                                                                              \
	({                                                                                                             \
		const void *at = (const void *)(s) + __builtin_preserve_field_info((s)->member, UNBLOAT_FIELD_OFFSET); \
		unsigned long long bits = 0;                                                                           \
		switch (__builtin_preserve_field_info((s)->member, UNBLOAT_FIELD_SIZE)) {                              \
		case 1:                                                                                                \
			bits = *(const unsigned char *)at;                                                             \
			break;                                                                                         \
		case 2:                                                                                                \
			bits = *(const unsigned short *)at;                                                            \
			break;                                                                                         \
		case 4:                                                                                                \
			bits = *(const unsigned int *)at;                                                              \
			break;                                                                                         \
		case 8:                                                                                                \
			bits = *(const unsigned long long *)at;                                                        \
			break;                                                                                         \
		}                                                                                                      \
		bits <<= __builtin_preserve_field_info((s)->member, UNBLOAT_FIELD_SHIFT_LEFT);                         \
		bits >>= __builtin_preserve_field_info((s)->member, UNBLOAT_FIELD_SHIFT_RIGHT);                        \
		bits;                                                                                                  \
	})

#define bpf_core_field_exists(member) __builtin_preserve_field_info(member, UNBLOAT_FIELD_EXISTS)
#define bpf_core_type_exists(type) __builtin_preserve_type_info(*(typeof(type) *)0, 0)
#define bpf_core_type_size(type) __builtin_preserve_type_info(*(typeof(type) *)0, 1)
#define bpf_core_enum_value_exists(type, value) __builtin_preserve_enum_value(*(typeof(type) *)value, 0)
#define bpf_core_enum_value(type, value) __builtin_preserve_enum_value(*(typeof(type) *)value, 1)

#endif
