/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One-way delay to the receiver, from the TCP timestamps (RFC 7323): the receiver's clock when its ACK left (TSval),
 * less the sender's clock when the acknowledged segment left (TSecr).
 *
 * The clocks have no zero in common, because each connection adds a random offset to its own. A delay alone means
 * nothing, and only differences of two count. They are right across the wrap of either clock. Differences also contain
 * the time for which the receiver held the ACK back, and the drift between the clocks. Both ends must tick alike, as
 * those of Linux do: every millisecond, or every microsecond on a route with the feature tcp_usec_ts.
 */
#ifndef UNBLOAT_ONE_WAY_DELAY_H
#define UNBLOAT_ONE_WAY_DELAY_H

#include "control.h"

#define LONGEST_QUEUEING ((1U << 24) - 1) /* us: longer times count as 16 s, so that sums and products fit */

static __always_inline __u32 timestamp_tick_us(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (bpf_core_field_exists(tp->tcp_usec_ts) && BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts))
		return 1;
	return USEC_PER_MSEC;
}

/* Reports whether both ends agreed on timestamps. */
static __always_inline bool has_timestamps(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(tcp_sk(sk), rx_opt.tstamp_ok);
}

/*
 * Reports whether this ACK shows a delay. An ACK that covers nothing new echoes the segment that was echoed before,
 * however long ago.
 */
static __always_inline bool has_one_way_delay(const struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return sample->pkts_acked && BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp) && tp->rx_opt.rcv_tsecr;
}

#define SINGLES_TO_DOUBT 8

/*
 * Reports whether the receiver held this ACK back, so that its delay is not the path's. A receiver that delays ACKs
 * covers several segments with one. After that an ACK of a single segment counts as late, until a run of them shows
 * that this receiver answers every segment. `singles` is the caller's.
 */
static __always_inline bool was_held_back(__u8 *singles, __u32 segments)
{
	if (segments > 1) {
		*singles = SINGLES_TO_DOUBT;
		return false;
	}
	if (!*singles)
		return false;
	--*singles;
	return true;
}

/* us, modulo 2^32 and from an unknown zero. */
static __always_inline __u32 one_way_delay_us(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return (tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr) * timestamp_tick_us(sk);
}

/* The excess of a delay over the least one, us. */
static __always_inline __u32 queueing_us(__u32 delay_us, __u32 least_us)
{
	return min(delay_us - least_us, LONGEST_QUEUEING);
}

#endif
