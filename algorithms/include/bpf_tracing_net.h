/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of the kernel that a congestion control calls: constants, socket casts, sequence arithmetic. A file may define
 * one of the functions itself, as the kernel's examples have done between 6.1 and 6.10. Whoever builds such a file
 * passes -DUNBLOAT_OWN_name.
 */
#ifndef __BPF_TRACING_NET_H__
#define __BPF_TRACING_NET_H__

#include "vmlinux.h"
#include "bpf/bpf_core_read.h"
#include "bpf/bpf_helpers.h"

#ifndef NULL
#define NULL ((void *)0)
#endif

#define AF_INET 2
#define AF_INET6 10
#define SOL_SOCKET 1
#define SOL_TCP 6
#define SO_SNDBUF 7
#define SO_RCVBUF 8
#define SO_MAX_PACING_RATE 47
#define TCP_NODELAY 1
#define TCP_MAXSEG 2
#define TCP_WINDOW_CLAMP 10
#define TCP_CONGESTION 13
#define TCP_NOTSENT_LOWAT 25

#define TCP_CA_NAME_MAX 16
#define TCP_CONG_NON_RESTRICTED 0x1
#define TCP_CONG_NEEDS_ECN 0x2
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_PINGPONG_THRESH 3

#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8

#define ICSK_TIME_RETRANS 1
#define ICSK_TIME_PROBE0 3
#define ICSK_TIME_LOSS_PROBE 5
#define ICSK_TIME_REO_TIMEOUT 6

/* `flag` of cong_control(): effects of the ACK. */
#define FLAG_DATA_ACKED 0x04
#define FLAG_SYN_ACKED 0x10
#define FLAG_DATA_SACKED 0x20
#define FLAG_SND_UNA_ADVANCED 0x400
#define FLAG_ACKED (FLAG_DATA_ACKED | FLAG_SYN_ACKED)
#define FLAG_FORWARD_PROGRESS (FLAG_ACKED | FLAG_DATA_SACKED)

#define sk_family __sk_common.skc_family
#define sk_state __sk_common.skc_state
#define sk_num __sk_common.skc_num
#define sk_dport __sk_common.skc_dport
#define sk_reuse __sk_common.skc_reuse
#define sk_net __sk_common.skc_net
#define sk_refcnt __sk_common.skc_refcnt
#define sk_bound_dev_if __sk_common.skc_bound_dev_if
#define sk_cookie __sk_common.skc_cookie
#define sk_daddr __sk_common.skc_daddr
#define sk_rcv_saddr __sk_common.skc_rcv_saddr
#define sk_v6_daddr __sk_common.skc_v6_daddr
#define sk_v6_rcv_saddr __sk_common.skc_v6_rcv_saddr
#define sk_rmem_alloc sk_backlog.rmem_alloc
#define inet_daddr sk.__sk_common.skc_daddr
#define inet_rcv_saddr sk.__sk_common.skc_rcv_saddr
#define inet_dport sk.__sk_common.skc_dport
#define inet_num sk.__sk_common.skc_num

#define tcp_jiffies32 ((__u32)bpf_jiffies64())

#ifndef UNBLOAT_OWN_min
#define min(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef UNBLOAT_OWN_max
#define max(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef UNBLOAT_OWN_min_not_zero
#define min_not_zero(a, b)                                              \
	({                                                              \
		typeof(a) first = (a);                                  \
		typeof(b) second = (b);                                 \
		!first ? second : !second ? first : min(first, second); \
	})
#endif

#ifndef UNBLOAT_OWN_inet_csk
static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
#endif

#ifndef UNBLOAT_OWN_inet_csk_ca
static __always_inline void *inet_csk_ca(const struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}
#endif

#ifndef UNBLOAT_OWN_tcp_sk
static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}
#endif

/* Sequence numbers and 32-bit clocks wrap. */
#ifndef UNBLOAT_OWN_before
static __always_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}
#endif
#ifndef UNBLOAT_OWN_after
#define after(a, b) before((b), (a))
#endif

#ifndef UNBLOAT_OWN_tcp_in_slow_start
static __always_inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}
#endif

/*
 * Reports whether the window is in use, so that it may grow: the last round found it too small, or slow start has not
 * reached twice the flight.
 */
#ifndef UNBLOAT_OWN_tcp_is_cwnd_limited
static __always_inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;

	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}
#endif

#ifndef UNBLOAT_OWN_tcp_cc_eq
static __always_inline bool tcp_cc_eq(const char *a, const char *b)
{
	for (int i = 0; i < TCP_CA_NAME_MAX; i++) {
		if (a[i] != b[i])
			return false;
		if (!a[i])
			break;
	}
	return true;
}
#endif

#ifndef UNBLOAT_OWN_tcp_slow_start
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
#endif
#ifndef UNBLOAT_OWN_tcp_cong_avoid_ai
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
#endif

#endif
