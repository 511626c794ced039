/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Westwood+: grows as Reno, and after a loss sets the window that its measured bandwidth needs without a queue.
 *
 * From Mascolo et al., "TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links", MobiCom 2001,
 * in its later form (Westwood+, 2004) and as Linux has it. The bandwidth sample is the data that arrived over the time
 * that it took. Once a round trip, but at most every 50 ms, the sample passes two filters of 7/8 and 1/8; the first
 * sample sets both. After a repair, and as the threshold after a timeout,
 *
 *    cwnd = max(bandwidth RTT_min / MSS, 2)
 *
 * While TCP repairs a loss the window goes towards half, as Reno's. RTT_min is the least since the last timeout.
 *
 * Departures from Linux:
 *  - the data that arrived is the socket's count of delivered segments. Linux's module, older than that count,
 *    estimates it from duplicate ACKs;
 *  - times are in microseconds and bandwidth in bytes a second. Linux has jiffies and bytes a jiffy, and an RTT rounded
 *    up to whole jiffies makes its window a little larger than the path;
 *  - a sample that spans the RTT itself counts, and the window is rounded to the nearest segment. A sample mostly spans
 *    one RTT and the microseconds in which the host answered; rounding down would lose a segment to those.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"

PARAM(u32, interval, 50000, 1000, 1000000, "us", "least time that the bandwidth is measured over");

struct westwood {
	__u64 smoothed;	  /* bytes a second: after the first filter ... */
	__u64 bandwidth;  /* ... and after the second */
	__u32 delivered;  /* segments, with the last ACK ... */
	__u32 began_with; /* ... and when the measurement began ... */
	__u32 began_us;	  /* ... which was then */
	__u32 rtt_us;	  /* latest */
	__u32 rtt_min_us;
	__u8 forget_rtt_min;
};

static __always_inline __u64 westwood_filter(__u64 before, __u64 sample)
{
	return (7 * before + sample) / 8;
}

static __always_inline void westwood_measure(struct westwood *ca, __u64 bytes, __u32 us)
{
	__u64 sample = bytes * USEC_PER_SEC / us;

	ca->smoothed = ca->bandwidth ? westwood_filter(ca->smoothed, sample) : sample;
	ca->bandwidth = ca->bandwidth ? westwood_filter(ca->bandwidth, ca->smoothed) : sample;
}

/* The segments that the path holds without a queue. */
static __always_inline __u32 westwood_window(struct sock *sk)
{
	const struct westwood *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	__u64 bytes = ca->bandwidth * ca->rtt_min_us / USEC_PER_SEC;

	return max((__u32)((bytes + tp->mss_cache / 2) / tp->mss_cache), 2U);
}

/* A measurement ends before the ACK that finds it long enough. */
static __always_inline void westwood_count(const struct tcp_sock *tp, struct westwood *ca, __u32 now)
{
	__u32 elapsed = now - ca->began_us;

	if (elapsed >= max(ca->rtt_us, interval)) {
		westwood_measure(ca, (__u64)(ca->delivered - ca->began_with) * tp->mss_cache, elapsed);
		ca->began_with = ca->delivered;
		ca->began_us = now;
	}
	ca->delivered = tp->delivered;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	__u32 delivered = tcp_sk(sk)->delivered;

	*(struct westwood *)inet_csk_ca(sk) = (struct westwood){
		.delivered = delivered,
		.began_with = delivered,
		.began_us = clock_us(sk),
		.forget_rtt_min = 1,
	};
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		ca->rtt_us = sample->rtt_us;
	if (!ca->rtt_us)
		return;
	westwood_count(tcp_sk(sk), ca, clock_us(sk));
	ca->rtt_min_us = ca->forget_rtt_min ? ca->rtt_us : min(ca->rtt_min_us, ca->rtt_us);
	ca->forget_rtt_min = 0;
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_COMPLETE_CWR) {
		tp->snd_cwnd = tp->snd_ssthresh = westwood_window(sk);
	} else if (event == CA_EVENT_LOSS) {
		tp->snd_ssthresh = westwood_window(sk);
		ca->forget_rtt_min = 1;
	}
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops westwood = {
	.init = (void *)init,
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("westwood"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
