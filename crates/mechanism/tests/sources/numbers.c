/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The integer functions inside the mechanisms, for tests to call. */
#define CUBIC_AS_BASE
#include "cubic.bpf.c"
#include "delayed_window_update.h"

__u32 numbers_cube_root(__u64 a)
{
	return cube_root(a);
}

__u32 numbers_cubic_k(__u32 distance)
{
	return cubic_k(distance);
}

/* The curve with W_max and K of a loss at `w_max`, at `ms` after the epoch's start from `cwnd`. */
__u32 numbers_cubic_window(__u32 w_max, __u32 cwnd, __u32 ms)
{
	struct cubic ca = {.bic_origin_point = w_max, .k = cubic_k(w_max - cwnd)};

	return cubic_window(&ca, ((__u64)ms << TIME_BITS) / 1000);
}

__u32 numbers_hystart_tolerance(__u32 min_rtt_us)
{
	return hystart_tolerance_us(min_rtt_us);
}

__u32 numbers_suspension(__u32 min_rtt, __u32 x)
{
	return dwu_suspension(min_rtt, x);
}

__u32 numbers_cut(__u32 cwnd)
{
	struct delayed_window dw = {};

	return dwu_cut(&dw, cwnd);
}

/* One evaluation: the verdict in the low byte, then suspended, then high. */
__u32 numbers_evaluate(const struct delayed_window *before)
{
	struct delayed_window dw = *before;
	__u32 verdict = dwu_evaluate(&dw, 0);

	return verdict | dw.suspended << 8 | dw.high << 16;
}

__u32 numbers_period(__u32 min_rtt)
{
	struct delayed_window dw = {.min_rtt = min_rtt};

	return dwu_period(&dw);
}

__u32 numbers_threshold(__u32 min_rtt)
{
	struct delayed_window dw = {.min_rtt = min_rtt};

	return dwu_threshold(&dw);
}

__u32 numbers_eps(__u32 min_rtt)
{
	struct delayed_window dw = {.min_rtt = min_rtt};

	return dwu_eps(&dw);
}
