/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RTAC's window for a given K. */
#ifndef UNBLOAT_RTAC_WINDOW_H
#define UNBLOAT_RTAC_WINDOW_H

#include "receiver_window.h"
#include "roots.h"

/* 1/K by equation 2.11 for a bandwidth-delay product in eighths of a packet, with a = 3/2; theta is in percent. */
static __always_inline __u64 rtac_inverse_k_of_eighths(__u64 bdp, __u32 theta_percent)
{
	return (theta_percent - 100) * bdp * bdp * bdp * 2 / (300 * 8 * 8 * 8);
}

/* 1/K by equation 2.11 for a bandwidth-delay product in packets. */
static __always_inline __u64 rtac_inverse_k(__u64 bdp, __u32 theta_percent)
{
	return rtac_inverse_k_of_eighths(8 * bdp, theta_percent);
}

/* The packets of a window that wait, 1/256 (equation 2.10). */
static __always_inline __u64 rtac_queued(__u32 rtt_us, __u32 base_us, __u32 estimate)
{
	return estimate - (__u64)estimate * base_us / rtt_us;
}

/* Equation 2.8 with the q of 2.6: 1/256 packets. The RTT is not below the base. */
static __always_inline __u64 rtac_target(__u32 rtt_us, __u32 base_us, __u32 estimate, __u64 inverse_k)
{
	__u64 queued = rtac_queued(rtt_us, base_us, estimate);
	__u64 square = (__u64)3 * Q8 * Q8 / 2 * inverse_k / (queued + Q8);
	__u64 ratio = (__u64)Q8 * rtt_us / base_us;

	return (__u64)square_root(square * Q8 + 1) * ratio / Q8;
}

#endif
