/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * static: never announces a window above a configured one.
 *
 * From Im, "TCP Performance Enhancement in Wireless Networks", dissertation, Seoul National University, 2015, section
 * 2.2: it is equivalent to setting net.ipv4.tcp_rmem by hand. The best value depends on the path, which changes. It was
 * 400 to 800 kB on the dissertation's LTE network, and 200 kB on its Wi-Fi.
 *
 * Departures: the parameter is a window in segments. tcp_rmem is memory, of which a window is a part.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "window_control.h"

PARAM(u32, most, 400, 2, 100000, "packets", "largest window");

static __always_inline __u32 static_window(struct window_flow *flow, const struct window_ack *ack)
{
	return window_of((__u64)most * flow->mss);
}

WINDOW_CONTROL(static_window)

char _license[] SEC("license") = "Dual BSD/GPL";
