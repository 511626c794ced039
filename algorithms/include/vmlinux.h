/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's types that congestion controls use. One declaration serves both targets:
 *
 *  - kernel (clang -target bpf): every access is relocated by field name when the program is loaded (CO-RE), so only
 *    names matter here and a kernel may hold more members, in another order;
 *  - native (any C compiler): this very layout, which the Rust mirror in crates/mechanism/src/sock.rs repeats member by
 *    member. The kernel's bit-fields are plain members there.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#ifdef UNBLOAT_ALL_TYPES
/* Those of a kernel, as its BTF has them: crates/mechanism/src/build/kernel_types.rs writes the file. */
#include UNBLOAT_ALL_TYPES
#else

#include <stdbool.h>
#include <stddef.h>

/*
 * Members of a socket that no program may write are constants, so that the compiler refuses what the kernel's verifier
 * refuses: bpf_tcp_ca_btf_struct_access() in net/ipv4/bpf_tcp_ca.c lists those that may be written.
 */
#ifdef __bpf__
#define UNBLOAT_BITS(type, name, width) type name : width
#else
#define UNBLOAT_BITS(type, name, width) type name
#endif

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
#ifndef UNBLOAT_RUNTIME /* has those of the C library, of another type of 64 bits */
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s8 int8_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
#endif
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __le16;
typedef __u32 __le32;
typedef __u64 __le64;
typedef __u16 __sum16;
typedef __u32 __wsum;
typedef __u64 __attribute__((aligned(8))) __aligned_u64;

/* Contexts of other programs in the same file, kinds of maps, flags of helpers. */
#include "libbpf/uapi_bpf.h"

#ifndef UNBLOAT_NO_TYPES /* of the kernel's own: a file brings those that it uses */
#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

enum {
	IPPROTO_IP = 0,
	IPPROTO_ICMP = 1,
	IPPROTO_TCP = 6,
	IPPROTO_UDP = 17,
	IPPROTO_IPV6 = 41,
	IPPROTO_ICMPV6 = 58,
	IPPROTO_MPTCP = 262,
};

enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT = 2,
	TCP_SYN_RECV = 3,
	TCP_FIN_WAIT1 = 4,
	TCP_FIN_WAIT2 = 5,
	TCP_TIME_WAIT = 6,
	TCP_CLOSE = 7,
	TCP_CLOSE_WAIT = 8,
	TCP_LAST_ACK = 9,
	TCP_LISTEN = 10,
	TCP_CLOSING = 11,
	TCP_NEW_SYN_RECV = 12,
};

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,
	CA_ACK_WIN_UPDATE = 2,
	CA_ACK_ECE = 4,
};

enum inet_csk_ack_state_t {
	ICSK_ACK_SCHED = 1,
	ICSK_ACK_TIMER = 2,
	ICSK_ACK_PUSHED = 4,
	ICSK_ACK_PUSHED2 = 8,
	ICSK_ACK_NOW = 16,
};

enum sk_pacing {
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
	SK_PACING_FQ = 2,
};

#include "unbloat/unmodelled.h"

struct sock_common {
	const __u16 skc_family;
	UNBLOAT_BITS(const volatile unsigned char, skc_state, 8);
	UNBLOAT_BITS(const unsigned char, skc_reuse, 4);
	const __u16 skc_num;
	const __be16 skc_dport;
	UNBLOAT_SOCK_COMMON_ROOM
};

struct sock {
	const struct sock_common __sk_common;
	unsigned long sk_pacing_rate; /* bytes a second */
	const unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status; /* enum sk_pacing */
	const __u32 sk_gso_max_size;
	const int sk_wmem_queued;
	const int sk_sndbuf;
	const int sk_rcvbuf;
	const __u8 sk_pacing_shift;
	UNBLOAT_SOCK_ROOM
};

struct inet_sock {
	struct sock sk;
	UNBLOAT_INET_ROOM
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	UNBLOAT_BITS(const __u8, icsk_ca_state, 5);
	UNBLOAT_BITS(const __u8, icsk_ca_initialized, 1);
	UNBLOAT_BITS(const __u8, icsk_ca_setsockopt, 1);
	UNBLOAT_BITS(const __u8, icsk_ca_dst_locked, 1);
	const __u8 icsk_retransmits;
	const __u8 icsk_pending;
	const __u8 icsk_backoff;
	const __u32 icsk_rto;	  /* jiffies */
	const __u32 icsk_rto_min; /* jiffies */
	const __u32 icsk_delack_max;
	struct {
		__u8 pending;
		const __u8 quick;
		const __u8 pingpong;
		const __u8 retry;
		UNBLOAT_BITS(const __u32, ato, 8);
		const unsigned long timeout;
		const __u32 lrcvtime;
		const __u16 last_seg_size;
		const __u16 rcv_mss;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
	const __u64 unbloat_guard[16]; /* zero unless a program wrote behind the private state; no kernel has it */
	UNBLOAT_ICSK_ROOM
};

struct tcp_options_received {
	__u32 ts_recent;
	__u32 rcv_tsval;
	__u32 rcv_tsecr;
	UNBLOAT_BITS(__u8, saw_tstamp, 1);
	UNBLOAT_BITS(__u8, tstamp_ok, 1);
	UNBLOAT_BITS(__u8, dsack, 1);
	UNBLOAT_BITS(__u8, wscale_ok, 1);
	UNBLOAT_BITS(__u8, sack_ok, 3);
	UNBLOAT_BITS(__u8, snd_wscale, 4);
	UNBLOAT_BITS(__u8, rcv_wscale, 4);
	__u8 num_sacks;
	__u16 mss_clamp;
	UNBLOAT_OPTIONS_ROOM
};

struct tcp_rack {
	__u64 mstamp; /* us */
	__u32 rtt_us;
	__u32 end_seq;
	__u32 last_delivered;
	__u8 reo_wnd_steps;
	UNBLOAT_BITS(__u8, reo_wnd_persist, 5);
	UNBLOAT_BITS(__u8, dsack_seen, 1);
	UNBLOAT_BITS(__u8, advanced, 1);
};

struct minmax_sample {
	__u32 t;
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

/* Sequence numbers are bytes modulo 2^32, windows segments, times microseconds unless said otherwise. */
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	const __u64 tcp_mstamp;	     /* us, when the latest packet was sent or received */
	const __u64 tcp_clock_cache; /* ns */
	const __u64 tcp_wstamp_ns;   /* departure of the next paced packet, ns */
	const __u64 bytes_acked;
	const __u64 bytes_received;
	const __u64 bytes_sent;
	const __u64 bytes_retrans;
	const __u64 first_tx_mstamp;
	const __u64 delivered_mstamp;
	const __u16 tcp_header_len;
	const __u16 gso_segs;
	const __u16 advmss;
	const __u32 mss_cache;
	const __u32 rcv_nxt;
	const __u32 copied_seq;
	const __u32 rcv_wup;
	const __u32 rcv_wnd;
	const __u32 window_clamp;
	const __u32 snd_nxt;
	const __u32 snd_una;
	const __u32 snd_sml;
	const __u32 write_seq;
	const __u32 snd_wnd; /* bytes */
	const __u32 max_window;
	const __u32 snd_wl1;
	const __u32 rcv_tstamp; /* jiffies */
	const __u32 lsndtime;	/* jiffies */
	const __u32 segs_in;
	const __u32 segs_out;
	const __u32 data_segs_in;
	const __u32 data_segs_out;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	const __u32 snd_cwnd_clamp;
	const __u32 snd_cwnd_used;
	__u32 snd_cwnd_stamp; /* jiffies */
	__u32 snd_ssthresh;
	const __u32 prior_cwnd;
	const __u32 prior_ssthresh;
	const __u32 prr_delivered;
	const __u32 prr_out;
	const __u32 high_seq;
	const __u32 undo_marker;
	const int undo_retrans;
	const __u64 retrans_stamp;
	const __u32 total_retrans;
	const __u32 packets_out;
	const __u32 sacked_out;
	const __u32 lost_out;
	const __u32 retrans_out;
	const __u32 max_packets_out;
	const __u32 cwnd_usage_seq;
	const __u32 delivered;
	const __u32 delivered_ce;
	const __u32 lost;
	__u32 app_limited;
	const __u32 rate_delivered;
	const __u32 rate_interval_us;
	const __u32 reordering;
	const __u32 reord_seen;
	const __u32 dsack_dups;
	const __u32 tlp_high_seq;
	const __u32 srtt_us; /* x8 */
	const __u32 mdev_us; /* x4 */
	const __u32 mdev_max_us;
	const __u32 rttvar_us;
	const __u32 rtt_seq;
	struct {
		const __u32 rtt_us; /* x8 */
	} rcv_rtt_est;
	__u8 ecn_flags;
	UNBLOAT_BITS(const __u8, is_cwnd_limited, 1);
	UNBLOAT_BITS(const __u8, rate_app_limited, 1);
	UNBLOAT_BITS(const __u8, frto, 1);
	UNBLOAT_BITS(const __u8, is_sack_reneg, 1);
	UNBLOAT_BITS(const __u8, nonagle, 4);
	UNBLOAT_BITS(const __u8, repair, 1);
	UNBLOAT_BITS(const __u8, tlp_retrans, 1);
	UNBLOAT_BITS(const __u8, tcp_usec_ts,
		     1); /* timestamps count us, not ms; not in kernels before 6.7, so ask bpf_core_field_exists() */
	const struct minmax rtt_min;
	const struct tcp_rack rack;
	const struct tcp_options_received rx_opt;
	UNBLOAT_TCP_ROOM
#ifndef __bpf__
	/* State of the native runtime beside the kernel's members. */
	struct {
		void *storage;		/* head of the socket's local storage */
		__u32 send_ack_pending; /* bpf_tcp_send_ack() was called ... */
		__u32 send_ack_rcv_nxt; /* ... with this */
		__u32 period_us;	/* wait this long before each window */
		__u32 mean_flow_rate; /* in a mesh: mean rate of the known flows, packets in 1000 s; 0 = none is known */
		__u32 min_cwnd;	      /* rate halving may go down to this, packets; 0 = to ssthresh */
		__u32 rate_halving;   /* the stack halves its rate */
	} sim;
#endif
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;	 /* negative: no sample */
	__u32 in_flight; /* bytes */
};

struct rate_sample {
	__u64 prior_mstamp;
	__u32 prior_delivered;
	__u32 prior_delivered_ce;
	__s32 delivered;
	__s32 delivered_ce;
	long interval_us;
	__u32 snd_interval_us;
	__u32 rcv_interval_us;
	long rtt_us;
	int losses;
	__u32 acked_sacked;
	__u32 prior_in_flight;
	__u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif
#endif /* UNBLOAT_NO_TYPES */

#endif /* UNBLOAT_ALL_TYPES */

#include "unbloat/congestion_ops.h"

#endif
