/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LEDBAT: low priority. It steers towards a queueing delay, and yields to flows that make it longer.
 *
 * From RFC 6817, "Low Extra Delay Background Transport", in segments. The queueing delay is the least of the last four
 * delays to the receiver less the least of the last ten minutes; for each segment acknowledged
 *
 *    cwnd += gain (target - queueing) / target / cwnd
 *
 * and the window stays within what was in flight and `allowed_increase`. A loss halves it, at most once in a round
 * trip.
 *
 * Departures and choices:
 *  - timestamps are TCP's; without them it is Reno;
 *  - the data in flight is the most of the last round, as Linux counts it, because a host that sends in bursts does not
 *    fill its window at every ACK;
 *  - the retransmission timer is TCP's, and a timeout leaves one segment. The window grows without slow start, even
 *    after a timeout, unless `slow_start` is set;
 *  - a pause forgets the last four delays and keeps those of the ten minutes.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "delay_history.h"
#include "fractional_growth.h"
#include "one_way_delay.h"
#include "slow_start.h"

PARAM(u32, target, 100000, 1000, 100000, "us", "queueing delay that it aims at");
PARAM(u32, gain, 1024, 1, 1024, "/1024", "growth in a round trip with an empty queue, of a segment");
PARAM(u32, allowed_increase, 1, 1, 1000, "packets", "how far the window may be above what was in flight");
PARAM(u32, initial_window, 2, 1, 1000, "packets", "largest window at the start");
PARAM(bool, slow_start, false, 0, 1, "", "slow start at the beginning and after a timeout");

#define GAIN_BITS 10 /* gain is in 1/1024 */

struct ledbat {
	__s64 sum; /* of changes that have not become a segment, 1/1024 segment times the target */
	struct delay_history delays;
};

static __always_inline void ledbat_change_window(struct tcp_sock *tp, struct ledbat *ca, __u32 acked)
{
	__u32 queueing = delay_history_queueing(&ca->delays);
	__u32 in_flight = tcp_packets_in_flight(tp) + acked;
	__u32 most = max(in_flight, tp->max_packets_out) + allowed_increase;

	if (queueing <= target)
		ca->sum += (__u64)acked * gain * (target - queueing);
	else
		ca->sum -= (__u64)acked * gain * (queueing - target);
	change_window(tp, &ca->sum, (__u64)target << GAIN_BITS);
	tp->snd_cwnd = max(min(tp->snd_cwnd, most), LEAST_WINDOW);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	*(struct ledbat *)inet_csk_ca(sk) = (struct ledbat){};
	if (has_timestamps(sk))
		tp->snd_cwnd = min(tp->snd_cwnd, initial_window);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat *ca = inet_csk_ca(sk);

	if (has_one_way_delay(sk, sample))
		delay_history_sample(&ca->delays, one_way_delay_us(sk), tcp_sk(sk)->tcp_mstamp);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat *ca = inet_csk_ca(sk);

	if (!ca->delays.has_current)
		tcp_reno_cong_avoid(sk, ack, acked);
	else if (!slow_start || !tcp_in_slow_start(tp) || reaches_congestion_avoidance(sk, &acked))
		ledbat_change_window(tp, ca, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct ledbat *ca = inet_csk_ca(sk);

	ca->sum = 0;
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct ledbat *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_CWND_RESTART)
		ca->delays.has_current = 0;
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ledbat = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "ledbat",
};

char _license[] SEC("license") = "Dual BSD/GPL";
