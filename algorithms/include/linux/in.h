/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What congestion controls take from <linux/in.h> is in vmlinux.h. */
#include "vmlinux.h"
