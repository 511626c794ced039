/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef __BPF_ENDIAN__
#define __BPF_ENDIAN__

#include "vmlinux.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define bpf_htons(x) __builtin_bswap16(x)
#define bpf_htonl(x) __builtin_bswap32(x)
#else
#define bpf_htons(x) (x)
#define bpf_htonl(x) (x)
#endif
#define bpf_ntohs(x) bpf_htons(x)
#define bpf_ntohl(x) bpf_htonl(x)

#endif
