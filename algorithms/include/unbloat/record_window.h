/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel target with -DUNBLOAT_RECORD: input and answer of a window controller, and its state before and after. A
 * replay in the native build of the same file (crates/mechanism/src/replay_windows.rs) must give the same answer and
 * state.
 */
#ifndef UNBLOAT_RECORD_WINDOW_H
#define UNBLOAT_RECORD_WINDOW_H

#include "unbloat/record.h"

/* A snapshot; one call writes one. The reader is crates/agreement/src/recording/windows.rs. */
struct unbloat_window_snapshot {
	struct tcp_ends ends;
	__u32 answer;
	struct window_ack ack;
	struct window_flow before;
	struct window_flow after;
};

static __always_inline __u32 unbloat_window_recorded(const struct tcp_ends *ends, struct window_flow *flow,
						     const struct window_ack *ack)
{
	struct unbloat_window_snapshot *to = bpf_ringbuf_reserve(&unbloat_recording, sizeof(*to), 0);
	__u32 answer;

	if (!to) {
		unbloat_count_lost();
		return unbloat_window(flow, ack);
	}
	unbloat_helper_results()->ns = ack->now_us * 1000;
	to->ends = *ends;
	to->ack = *ack;
	to->before = *flow;
	answer = unbloat_window(flow, ack);
	to->answer = answer;
	to->after = *flow;
	bpf_ringbuf_submit(to, UNBLOAT_NO_WAKEUP);
	return answer;
}

#endif
