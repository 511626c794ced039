/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Delayed window update: a gate in front of any loss-based congestion control. It watches how many segments still see
 * an empty queue, and where the mean RTT goes. It holds or cuts the window before the queue overflows. The base's own
 * formulae stay as they are.
 *
 * From Min Wang and Lingyun Yuan, "TCP Delayed Window Update Mechanism for Fighting the Bufferbloat", KSII TIIS, 2016.
 * Over each period, U is the share of segments whose RTT was above the least. J is the change of the mean RTT since the
 * period before:
 *
 *     U = 100 %  and J > 0   serious: the window falls to theta of itself and stays for a random part of the least RTT
 *     U > u_hi   and J > 0   mild: the window is held for a random part of the least RTT
 *     U <= u_hi  and |J| < threshold   clear: the window is released
 *
 * Apart from that the gate holds the window while the mean RTT is in the upper half of the range that it has seen.
 *
 * Where the paper is silent or contradicts itself, a parameter decides (in brackets: the row of
 * papers/cubic-plus/choices.toml):
 *  - an RTT "equals" the least within `eps` [A2]; total_num counts segments with an RTT sample, as the numerator does
 *    [A3];
 *  - "decreased by 1 - theta" is a cut to theta [A4]. The gate drops the rest of a packet, `cut_rounds` [A15]. A stack
 *    that counts bytes would not, but the paper's shares of two flows need whole packets;
 *  - serious congestion needs J > 0, `serious_needs_jitter` [A1];
 *  - periods begin with the connection, as detection does, `period_from_start` [A13];
 *  - serious congestion also cuts a window that the gate holds because the mean RTT is high, `cut_while_high` [A14];
 *  - the largest RTT is the connection's, `reset_max_rtt` [A6]. The gate covers slow start, `gate_slow_start`, and a
 *    serious verdict ends it, `exit_ss_on_serious`. A window-over-time base does not run on during a hold,
 *    `shift_epoch_on_hold`.
 *
 * A base behind the gate is a congestion control of its own. delayed_window_control.h makes its programs, and
 * cubic_plus.bpf.c shows how.
 */
#ifndef UNBLOAT_DELAYED_WINDOW_UPDATE_H
#define UNBLOAT_DELAYED_WINDOW_UPDATE_H

#include "control.h"

PARAM(u32, period, 0, 0, 10000000, "us", "evaluation period; 0 = four times the least RTT, within 100 and 200 ms");
PARAM(u32, threshold, 0, 0, 10000000, "us", "jitter that is none; 0 = 30 ms below a least RTT of 50 ms, else 0.6 ms");
PARAM(u32, theta, 90, 1, 100, "%", "window that a serious verdict leaves");
PARAM(u32, cut_rounds, 0, 0, 3, "",
      "part of a packet that a cut leaves: 0 = dropped, 1 = rounded, 2 = made whole, 3 = kept");
PARAM(u32, u_hi, 99, 0, 99, "%", "share of delayed segments above which congestion shows");
PARAM(u32, eps, 0, 0, 1000000, "us",
      "an RTT this close to the least equals it; 0 = the share eps_shift, at least 1 us");
PARAM(u32, eps_shift, 10, 0, 31, "", "with eps = 0: the least RTT over two to this power");
PARAM(bool, serious_needs_jitter, true, 0, 1, "", "a standing queue alone is not serious");
PARAM(bool, period_from_start, true, 0, 1, "", "the first period begins with the connection, not its first RTT");
PARAM(bool, cut_while_high, true, 0, 1, "", "serious congestion cuts even while the mean RTT is in the upper half");
PARAM(bool, reset_max_rtt, false, 0, 1, "", "forget the largest RTT after each loss recovery");
PARAM(bool, gate_slow_start, true, 0, 1, "", "hold and cut in slow start too");
PARAM(bool, exit_ss_on_serious, true, 0, 1, "", "a serious verdict ends slow start");
PARAM(bool, shift_epoch_on_hold, true, 0, 1, "", "the base's clock stands still while the window is held");

/* 64 bits on a 4-byte boundary: the state must fit beside CUBIC's. */
typedef __u64 __attribute__((aligned(4))) dwu_u64;

/* Times in us; the clock wraps after 71 minutes. */
struct delayed_window {
	__u32 min_rtt; /* least ever */
	__u32 max_rtt; /* largest ever, or since the last recovery */
	__u32 period_start;
	__u32 total;	    /* segments with an RTT sample in this period ... */
	__u32 clear;	    /* ... and those of them that saw no queue */
	dwu_u64 rtt_sum;    /* over those segments */
	__u32 last_mean;    /* of the period before; 0 = unknown */
	__u32 held_until;   /* end of the suspension */
	__u32 closed_at;    /* when the gate was first found closed, jiffies */
	__u8 part;	    /* part of a packet that the last cut left, in 1/256; with CUT_KEEPS */
	__u8 suspended : 1; /* suspend_flag of the paper */
	__u8 high : 1;	    /* flag of the paper: the mean RTT is in the upper half */
	__u8 closed : 1;    /* closed_at is set */
	__u8 running : 1;   /* period_start is set */
};

/* Values of cut_rounds. */
enum dwu_rounding {
	CUT_ROUNDS_DOWN,
	CUT_ROUNDS,
	CUT_ROUNDS_UP,
	CUT_KEEPS,
};

enum dwu_verdict {
	DWU_NONE,
	DWU_CLEAR,
	DWU_MILD,
	DWU_SERIOUS,
};

static __always_inline __u32 dwu_period(const struct delayed_window *dw)
{
	return period ?: min(max(4 * (__u64)dw->min_rtt, 100 * USEC_PER_MSEC), 200 * USEC_PER_MSEC);
}

static __always_inline __u32 dwu_threshold(const struct delayed_window *dw)
{
	return threshold ?: dw->min_rtt < 50 * USEC_PER_MSEC ? 30000 : 600;
}

static __always_inline __u32 dwu_eps(const struct delayed_window *dw)
{
	return eps ?: max(1U, dw->min_rtt >> eps_shift);
}

/* A random part of the least RTT, in (0, 1] for x over all 32-bit numbers (equation 4). */
static __always_inline __u32 dwu_suspension(__u32 min_rtt, __u32 x)
{
	return (min_rtt * ((__u64)x + 1)) >> 32;
}

/*
 * The window that a cut leaves, with its part of a packet. Rounded down, every window of up to ten packets loses
 * exactly one, as with additive decrease, which never brings two windows together.
 */
static __always_inline __u32 dwu_cut(struct delayed_window *dw, __u32 cwnd)
{
	__u64 left = (((__u64)cwnd << 8) + dw->part) * theta / 100;

	dw->part = 0;
	if (cut_rounds == CUT_KEEPS)
		dw->part = left;
	else if (cut_rounds == CUT_ROUNDS)
		left += 128;
	else if (cut_rounds == CUT_ROUNDS_UP)
		left += 255;
	return max((__u32)(left >> 8), 2U);
}

static __always_inline void dwu_clear_period(struct delayed_window *dw)
{
	dw->total = 0;
	dw->clear = 0;
	dw->rtt_sum = 0;
}

/* Restarts detection; the known RTTs of the path stay. */
static __always_inline void dwu_restart(struct delayed_window *dw)
{
	dwu_clear_period(dw);
	dw->last_mean = 0;
	dw->running = 0;
}

/* Equations 1 to 3 and section 3.4. `rise` says whether the mean RTT rose, `change` by how much it differs. */
static __always_inline enum dwu_verdict dwu_verdict(const struct delayed_window *dw, bool rise, __u32 change)
{
	__u64 delayed_over_u_hi = (__u64)dw->total * (100 - u_hi); /* n_clear below this: U > u_hi */

	if (!dw->clear && (rise || !serious_needs_jitter))
		return DWU_SERIOUS;
	if (100 * (__u64)dw->clear < delayed_over_u_hi)
		return rise ? DWU_MILD : DWU_NONE;
	return change < dwu_threshold(dw) ? DWU_CLEAR : DWU_NONE;
}

/* The end of a period: the verdict, and the paper's two flags after it. */
static __always_inline enum dwu_verdict dwu_evaluate(struct delayed_window *dw, __u32 now)
{
	__u32 mean = dw->rtt_sum / dw->total;
	__u32 last = dw->last_mean ?: mean;
	bool rise = mean > last;
	enum dwu_verdict verdict = dwu_verdict(dw, rise, rise ? mean - last : last - mean);

	if (verdict == DWU_MILD || verdict == DWU_SERIOUS) {
		dw->suspended = 1;
		dw->held_until = now + dwu_suspension(dw->min_rtt, bpf_get_prandom_u32());
	} else if (verdict == DWU_CLEAR) {
		dw->suspended = 0;
	}
	dw->high = 2 * dw->rtt_sum > ((__u64)dw->min_rtt + dw->max_rtt) * dw->total;
	dw->last_mean = mean;
	return verdict;
}

static __always_inline void dwu_sample(struct delayed_window *dw, __u32 rtt, __u32 segments, bool counts)
{
	dw->min_rtt = min(dw->min_rtt, rtt);
	dw->max_rtt = max(dw->max_rtt, rtt);
	if (!counts)
		return;
	dw->total += segments;
	dw->rtt_sum += (__u64)rtt * segments;
	if (rtt <= dw->min_rtt + dwu_eps(dw))
		dw->clear += segments;
}

static __always_inline void delayed_window_init(struct sock *sk, struct delayed_window *dw)
{
	*dw = (struct delayed_window){
		.min_rtt = ~0U,
		.running = period_from_start,
		.period_start = clock_us(sk),
	};
}

/*
 * Returns true if the verdict was serious and the window has been cut: a base that follows a curve in time starts it
 * afresh.
 */
static __always_inline bool delayed_window_pkts_acked(struct sock *sk, struct delayed_window *dw,
						      const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 now = clock_us(sk);
	bool repairing = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) >= TCP_CA_CWR;

	if (sample->rtt_us >= 0)
		dwu_sample(dw, max(sample->rtt_us, 1), sample->pkts_acked, !repairing);
	if (repairing)
		return false;
	if (dw->suspended && !before(now, dw->held_until))
		dw->suspended = 0;
	if (!dw->running) {
		dw->running = 1;
		dw->period_start = now;
	}
	if (now - dw->period_start < dwu_period(dw))
		return false;
	dw->period_start = now;
	if (!dw->total)
		return false;
	bool may_cut = !dw->high || cut_while_high; /* `high` as of the period before */
	enum dwu_verdict verdict = dwu_evaluate(dw, now);
	bool slow_start = tcp_in_slow_start(tp);

	dwu_clear_period(dw);
	if (verdict != DWU_SERIOUS || !may_cut || (slow_start && !gate_slow_start))
		return false;
	tp->snd_cwnd = dwu_cut(dw, tp->snd_cwnd);
	if (slow_start && exit_ss_on_serious)
		tp->snd_ssthresh = tp->snd_cwnd;
	return true;
}

/* Reports whether the base may raise the window now. */
static __always_inline bool delayed_window_is_open(struct sock *sk, struct delayed_window *dw)
{
	bool held = dw->suspended || dw->high;

	if (!held || (!gate_slow_start && tcp_in_slow_start(tcp_sk(sk))))
		return true;
	if (!dw->closed) {
		dw->closed = 1;
		dw->closed_at = tcp_jiffies32;
	}
	return false;
}

/* Jiffies of holds that were not reported to the base yet, which shifts its clock by them. */
static __always_inline __u32 delayed_window_held_time(struct delayed_window *dw)
{
	if (!dw->closed)
		return 0;
	dw->closed = 0;
	return shift_epoch_on_hold ? tcp_jiffies32 - dw->closed_at : 0;
}

/* A loss, a timeout or an ECN mark opens the gate. Detection restarts, and once more when the repair is over. */
static __always_inline void delayed_window_set_state(struct sock *sk, struct delayed_window *dw, __u8 new_state)
{
	__u8 old_state = BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);

	if (new_state < TCP_CA_CWR && old_state < TCP_CA_CWR)
		return;
	dw->suspended = 0;
	dw->high = 0;
	dw->closed = 0;
	dwu_restart(dw);
	if (reset_max_rtt && new_state < TCP_CA_CWR && old_state >= TCP_CA_Recovery)
		dw->max_rtt = 0;
}

/*
 * Restarts the counters after a pause, which would mix two times. The kernel's event comes whenever nothing is in
 * flight, and with a window of two segments that one ACK covers this is every round trip. So a pause is a silence
 * longer than the retransmission timeout, as elsewhere in the kernel.
 */
static __always_inline void delayed_window_cwnd_event(struct sock *sk, struct delayed_window *dw,
						      enum tcp_ca_event event)
{
	__u32 silent = tcp_jiffies32 - tcp_sk(sk)->lsndtime;

	if (event == CA_EVENT_TX_START && silent > inet_csk(sk)->icsk_rto)
		dwu_restart(dw);
}

#endif
