/* SPDX-License-Identifier: GPL-2.0 */
/* A short copy of a kernel's types under a name of one's own. */
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

enum {
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	unsigned char skc_state;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5, icsk_ca_initialized : 1;
	u8 icsk_retransmits;
	u64 icsk_ca_priv[104 / sizeof(u64)];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 srtt_us;
	u32 snd_cwnd;
	u32 mss_cache;
	u32 packets_out;
};

struct ack_sample {
	u32 pkts_acked;
	int rtt_us;
	u32 in_flight;
};

struct rate_sample {
	int delivered;
	long interval_us;
	long rtt_us;
	int losses;
};

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 flags;
	char name[16];
};

#pragma clang attribute pop
