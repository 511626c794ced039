/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's integers, as vmlinux.h has them, with the limits of <stdint.h>. */
#ifndef UNBLOAT_STDINT_H
#define UNBLOAT_STDINT_H

#include "vmlinux.h"

typedef unsigned long uintptr_t;
typedef long intptr_t;

#define INT8_MAX __INT8_MAX__
#define INT16_MAX __INT16_MAX__
#define INT32_MAX __INT32_MAX__
#define INT64_MAX __LONG_LONG_MAX__
#define INT8_MIN (-INT8_MAX - 1)
#define INT16_MIN (-INT16_MAX - 1)
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MIN (-INT64_MAX - 1)
#define UINT8_MAX __UINT8_MAX__
#define UINT16_MAX __UINT16_MAX__
#define UINT32_MAX __UINT32_MAX__
#define UINT64_MAX (2ULL * __LONG_LONG_MAX__ + 1)

#endif
