/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's names of integers, for headers that a stack without a kernel includes unchanged. vmlinux.h has the same
 * definitions, so a file may include both. An int has 16 bits on some microcontrollers.
 */
#ifndef UNBLOAT_INTEGERS_H
#define UNBLOAT_INTEGERS_H

#if __SIZEOF_INT__ >= 4
typedef unsigned int __u32;
typedef int __s32;
#else
typedef unsigned long __u32;
typedef long __s32;
#endif
typedef unsigned long long __u64;
typedef long long __s64;

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#endif
