/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Westwood+: grows as Reno, and after a loss sets the window that its measured bandwidth needs without a queue.
 *
 * From Mascolo et al., "TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links", MobiCom 2001,
 * in its later form (Westwood+, 2004), in the arithmetic of Linux. The bandwidth sample is the data that arrived over
 * the time that it took. Once a round trip, but at most every 50 ms, the sample passes two filters of 7/8 and 1/8; the
 * first sample sets both. After a repair, and as the threshold after a timeout,
 *
 *    cwnd = max(bandwidth RTT_min / MSS, 2)
 *
 * While TCP repairs a loss the window goes towards half, as Reno's. RTT_min is the least since the last timeout.
 *
 * Departures from the paper, all of them Linux's:
 *  - times are in jiffies, 4 ms each at 250 a second, and RTTs are rounded up. On a path of 9 ms the window is a third
 *    larger than the path. Bandwidth is in whole bytes a jiffy, and the window is rounded down;
 *  - a sample takes longer than the RTT, by a jiffy at least. The ACK that ends it counts in the next;
 *  - an ACK that acknowledges nothing stands for one segment. A later one for more than a segment counts without those
 *    that stood for its data, but for one segment at least if all did. The stack predicts most ACKs of new data, which
 *    count in full;
 *  - the first ACK is not counted, or as one segment if the stack did not predict it.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"

PARAM(u32, interval, 50000, 1000, 1000000, "us", "least time that the bandwidth is measured over");

#define NO_RTT (20 * HZ) /* jiffies */

/* Times in jiffies. */
struct westwood {
	__u32 smoothed;	 /* bytes a jiffy: after the first filter ... */
	__u32 bandwidth; /* ... and after the second */
	__u32 began;	 /* the measurement did, then */
	__u32 bytes;	 /* arrived since */
	__u32 una;	 /* sequence number up to which data count */
	__u32 assumed;	 /* bytes that ACKs of nothing stood for */
	__u32 rtt;	 /* latest */
	__u32 rtt_min;
	__u8 forget_rtt_min;
	__u8 has_acks;
};

static __always_inline __u32 westwood_filter(__u32 before, __u32 sample)
{
	return (7 * before + sample) / 8;
}

static __always_inline void westwood_measure(struct westwood *ca, __u32 sample)
{
	bool is_first = !ca->smoothed && !ca->bandwidth;

	ca->smoothed = is_first ? sample : westwood_filter(ca->smoothed, sample);
	ca->bandwidth = is_first ? sample : westwood_filter(ca->bandwidth, ca->smoothed);
}

/* The segments that the path holds without a queue. */
static __always_inline __u32 westwood_window(struct sock *sk)
{
	const struct westwood *ca = inet_csk_ca(sk);

	return max((__u32)((__u64)ca->bandwidth * ca->rtt_min / tcp_sk(sk)->mss_cache), 2U);
}

/* Bytes that arrived by an ACK that the stack did not predict. */
static __always_inline __u32 westwood_unpredicted(struct westwood *ca, __u32 acked, __u32 mss)
{
	if (!acked) {
		ca->assumed += mss;
		return mss;
	}
	if (acked <= mss)
		return acked;
	if (ca->assumed >= acked) {
		ca->assumed -= acked;
		return mss;
	}
	acked -= ca->assumed;
	ca->assumed = 0;
	return acked;
}

static __always_inline void westwood_count(const struct tcp_sock *tp, struct westwood *ca, bool is_predicted)
{
	__u32 elapsed = tcp_jiffies32 - ca->began;

	if (!ca->has_acks)
		ca->una = tp->snd_una;
	ca->has_acks = 1;
	if (elapsed > max(ca->rtt, interval / (__u32)USEC_PER_JIFFY)) {
		westwood_measure(ca, ca->bytes / elapsed);
		ca->bytes = 0;
		ca->began += elapsed;
	}
	__u32 acked = tp->snd_una - ca->una;

	ca->una = tp->snd_una;
	ca->bytes += is_predicted ? acked : westwood_unpredicted(ca, acked, tp->mss_cache);
	ca->rtt_min = ca->forget_rtt_min ? ca->rtt : min(ca->rtt_min, ca->rtt);
	ca->forget_rtt_min = 0;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	*(struct westwood *)inet_csk_ca(sk) = (struct westwood){
		.began = tcp_jiffies32,
		.rtt = NO_RTT,
		.rtt_min = NO_RTT,
		.forget_rtt_min = 1,
	};
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		ca->rtt = ((__u32)sample->rtt_us + USEC_PER_JIFFY - 1) / USEC_PER_JIFFY;
}

SEC("struct_ops")
void BPF_PROG(in_ack_event, struct sock *sk, __u32 flags)
{
	westwood_count(tcp_sk(sk), inet_csk_ca(sk), !(flags & CA_ACK_SLOWPATH));
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
	.in_ack_event = (void *)in_ack_event,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.name = CONTROL_NAME("westwood"),
};

char _license[] SEC("license") = "Dual BSD/GPL";
