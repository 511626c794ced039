/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Agile-SD: grows by three segments each round trip right after a loss, by fewer the nearer it is to the lost window.
 *
 * From Alrshah, Othman, Ali, Hanapi, "Agile-SD: A Linux-based TCP congestion control algorithm for supporting
 * high-speed and short-distance networks", Journal of Network and Computer Applications 55, 2015. With the gap between
 * the window at the last loss and the window after it,
 *
 *    lambda = lambda_max gap_now / gap_after_loss, from lambda_min to lambda_max
 *    cwnd += lambda / cwnd for each segment acknowledged
 *
 * Departures: the authors' kernel module grows once for each ACK, however many segments the ACK covers; `once_per_ack`
 * does so too. The windows and losses in the same authors' paper on Elastic-TCP correspond to a tenth of the module's
 * growth: `slower = 10`.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
#include "control.h"
#include "slow_start.h"

PARAM(u32, beta, 90, 1, 99, "%", "window that a loss leaves");
PARAM(u32, lambda_min, 1, 1, 1000, "packets", "least growth a round trip");
PARAM(u32, lambda_max, 3, 1, 1000, "packets", "growth a round trip after a loss");
PARAM(u32, slower, 1, 1, 1000, "", "growth is divided by this");
PARAM(bool, once_per_ack, false, 0, 1, "", "an ACK counts as one segment whatever it covers");

#define LAMBDA_SCALE 1000U /* lambda is in 1/1000 ... */
#define SEGMENT 1000000U   /* ... and growth in 1/1000000 segment, times `slower` */

/* Windows in segments. All zero: no loss yet. */
struct agile_sd {
	__u32 cwnd_loss; /* at the last loss */
	__u32 cwnd_deg;	 /* what it left */
	__u32 fraction;	 /* growth that has not become a segment */
};

/* In 1/1000 segment a round trip. */
static __always_inline __u32 agile_sd_lambda(const struct agile_sd *ca, __u32 cwnd)
{
	__u32 gap_total = ca->cwnd_loss > ca->cwnd_deg ? ca->cwnd_loss - ca->cwnd_deg : 1;
	__u32 gap_current = ca->cwnd_loss > cwnd ? ca->cwnd_loss - cwnd : 0;
	__u64 lambda = (__u64)lambda_max * LAMBDA_SCALE * gap_current / gap_total;

	return max(min(lambda, (__u64)lambda_max * LAMBDA_SCALE), (__u64)lambda_min * LAMBDA_SCALE);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	*(struct agile_sd *)inet_csk_ca(sk) = (struct agile_sd){};
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct agile_sd *ca = inet_csk_ca(sk);

	if (!reaches_congestion_avoidance(sk, &acked))
		return;
	__u32 a_segment = (__u64)agile_sd_lambda(ca, tp->snd_cwnd) * (SEGMENT / LAMBDA_SCALE) / tp->snd_cwnd;
	__u64 growth = ca->fraction + (__u64)a_segment * (once_per_ack ? 1 : acked);

	__u32 unit = SEGMENT * slower;

	tp->snd_cwnd = min(tp->snd_cwnd + growth / unit, (__u64)tp->snd_cwnd_clamp);
	ca->fraction = growth % unit;
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct agile_sd *ca = inet_csk_ca(sk);

	ca->cwnd_loss = tcp_sk(sk)->snd_cwnd;
	ca->cwnd_deg = max((__u32)((__u64)ca->cwnd_loss * beta / 100), 2U);
	ca->fraction = 0;
	return ca->cwnd_deg;
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	const struct agile_sd *ca = inet_csk_ca(sk);

	return max(tcp_sk(sk)->snd_cwnd, ca->cwnd_loss);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops agile_sd = {
	.init = (void *)init,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "agile_sd",
};

char _license[] SEC("license") = "Dual BSD/GPL";
