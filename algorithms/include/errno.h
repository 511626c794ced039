/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Error numbers that helpers return, negated. */
#ifndef UNBLOAT_ERRNO_H
#define UNBLOAT_ERRNO_H

#define EPERM 1
#define ENOENT 2
#define E2BIG 7
#define EAGAIN 11
#define ENOMEM 12
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ENOPROTOOPT 92
#define ENOTSUPP 524

#endif
