/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs ssthresh and undo_cwnd of a control that changes nothing on a loss. */
#ifndef KEEPS_WINDOW_H
#define KEEPS_WINDOW_H

#include "bpf_tracing_net.h"
#include "control_programs.h"

static __always_inline __u32 kept_ssthresh(const struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static __always_inline __u32 kept_cwnd(const struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SSTHRESH_PROGRAM(kept_ssthresh)
UNDO_CWND_PROGRAM(kept_cwnd)

#endif
