/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Members of sockets that every kernel has and the simulator does not use, so that files that name them compile. In the
 * simulator they read as 0, or NULL. They are at the end of their structure, whose size the Rust mirror knows. For a
 * kernel they are members like the others, relocated by name.
 */
#ifndef UNBLOAT_UNMODELLED_H
#define UNBLOAT_UNMODELLED_H

#if defined(__bpf__) && !defined(UNBLOAT_RECORD)
#define UNBLOAT_ROOM(words, members...) members
#else
/* What a recording writes down has no use for them, and computes the native layout from what is declared. */
#define UNBLOAT_ROOM(words, members...) UNBLOAT_ROOM_OF(words, members)
#ifdef __bpf__
#define UNBLOAT_ROOM_OF(words, members...) const __u64 unbloat_room[words];
#else
#define UNBLOAT_ROOM_OF(words, members...)       \
	union {                                  \
		struct {                         \
			members                  \
		};                               \
		const __u64 unbloat_room[words]; \
	};
#endif
#endif

typedef __u32 __portpair;
typedef __u64 __addrpair;
typedef long long ktime_t;
typedef unsigned int gfp_t;
typedef __u64 netdev_features_t;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	__s64 counter;
} atomic64_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

typedef struct {
	__u32 val;
} kuid_t;

struct net;

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__u8 u6_addr8[16];
		__be16 u6_addr16[8];
		__be32 u6_addr32[4];
	} in6_u;
};

struct sk_buff_head {
	struct sk_buff *next, *prev;
	__u32 qlen;
};

struct timer_list {
	unsigned long expires;
};

struct tcp_sack_block {
	__u32 start_seq, end_seq;
};

struct tcp_congestion_ops;

/* clang-format off: the lists are macros of declarations */
#define UNBLOAT_SOCK_COMMON_ROOM                                                                                     \
	UNBLOAT_ROOM(14, const __addrpair skc_addrpair; const __be32 skc_daddr; const __be32 skc_rcv_saddr;          \
		     const unsigned int skc_hash; const __portpair skc_portpair;                                     \
		     UNBLOAT_BITS(const unsigned char, skc_reuseport, 1);                                            \
		     UNBLOAT_BITS(const unsigned char, skc_ipv6only, 1);                                             \
		     UNBLOAT_BITS(const unsigned char, skc_net_refcnt, 1); const int skc_bound_dev_if;               \
		     struct proto *const skc_prot; const possible_net_t skc_net; const struct in6_addr skc_v6_daddr; \
		     const struct in6_addr skc_v6_rcv_saddr; const atomic64_t skc_cookie;                            \
		     const unsigned long skc_flags; const unsigned short skc_tx_queue_mapping;                       \
		     const unsigned short skc_rx_queue_mapping; const int skc_incoming_cpu;                          \
		     const refcount_t skc_refcnt; const __u32 skc_rxhash;)

#define UNBLOAT_SOCK_ROOM                                                                                              \
	UNBLOAT_ROOM(                                                                                                  \
		40, const atomic_t sk_drops; const int sk_peek_off; const struct sk_buff_head sk_error_queue;          \
		const struct sk_buff_head sk_receive_queue; const struct sk_buff_head sk_write_queue; const struct {   \
			atomic_t rmem_alloc;                                                                           \
			int len;                                                                                       \
		} sk_backlog;                                                                                          \
		struct dst_entry *const sk_rx_dst; struct dst_entry *const sk_dst_cache;                               \
		struct socket *const sk_socket; struct sk_filter *const sk_filter; struct mem_cgroup *const sk_memcg;  \
		struct proto *const sk_prot_creator; void *const sk_user_data; const int sk_rx_dst_ifindex;            \
		const unsigned int sk_ll_usec; const unsigned int sk_napi_id; const int sk_rcvlowat; const int sk_err; \
		const int sk_err_soft; const __u32 sk_reserved_mem; const int sk_forward_alloc;                        \
		const __u32 sk_tsflags; const int sk_write_pending; const atomic_t sk_omem_alloc;                      \
		const refcount_t sk_wmem_alloc; const atomic_t sk_zckey; const atomic_t sk_tskey;                      \
		const unsigned long sk_tsq_flags; const __u32 sk_dst_pending_confirm; const long sk_rcvtimeo;          \
		const long sk_sndtimeo; const unsigned long sk_lingertime; const __u32 sk_priority;                    \
		const __u32 sk_mark; const kuid_t sk_uid; const __u16 sk_protocol; const __u16 sk_type;                \
		const netdev_features_t sk_route_caps; const __u16 sk_gso_max_segs; const gfp_t sk_allocation;         \
		const __u32 sk_txhash; UNBLOAT_BITS(const __u8, sk_gso_disabled, 1);                                   \
		UNBLOAT_BITS(const __u8, sk_kern_sock, 1); UNBLOAT_BITS(const __u8, sk_no_check_tx, 1);                \
		UNBLOAT_BITS(const __u8, sk_no_check_rx, 1); const __u8 sk_shutdown; const __u32 sk_ack_backlog;       \
		const __u32 sk_max_ack_backlog; const int sk_bind_phc; const ktime_t sk_stamp;                         \
		const int sk_disconnects; const __u8 sk_txrehash; const __u8 sk_clockid;)

#define UNBLOAT_INET_ROOM                                                                                         \
	UNBLOAT_ROOM(8, struct ipv6_pinfo *const pinet6; const unsigned long inet_flags; const __be32 inet_saddr; \
		     const __s16 uc_ttl; const __be16 inet_sport; const atomic_t inet_id; const __u8 tos;         \
		     const __u8 min_ttl; const __u8 mc_ttl; const __u8 pmtudisc; const __u8 rcv_tos;              \
		     const __u8 convert_csum; const int uc_index; const int mc_index; const __be32 mc_addr;       \
		     const __u32 local_port_range;)

#define UNBLOAT_ICSK_ROOM                                                                                              \
	UNBLOAT_ROOM(                                                                                                  \
		12, const unsigned long icsk_timeout; const struct timer_list icsk_retransmit_timer;                   \
		const struct timer_list icsk_delack_timer; const struct tcp_congestion_ops *const icsk_ca_ops;         \
		const struct tcp_ulp_ops *const icsk_ulp_ops; void *const icsk_ulp_data; const __u32 icsk_pmtu_cookie; \
		const __u32 icsk_rto_max; const __u8 icsk_syn_retries; const __u8 icsk_probes_out;                     \
		const __u16 icsk_ext_hdr_len; const struct {                                                           \
			int search_high;                                                                               \
			int search_low;                                                                                \
			UNBLOAT_BITS(__u32, probe_size, 31);                                                           \
			UNBLOAT_BITS(__u32, enabled, 1);                                                               \
			__u32 probe_timestamp;                                                                         \
		} icsk_mtup;                                                                                           \
		const __u32 icsk_probes_tstamp; const __u32 icsk_user_timeout;)

#define UNBLOAT_OPTIONS_ROOM                                                                                    \
	UNBLOAT_ROOM(1, int ts_recent_stamp; UNBLOAT_BITS(__u8, smc_ok, 1); UNBLOAT_BITS(__u8, saw_unknown, 1); \
		     __u16 user_mss;)

#define UNBLOAT_TCP_ROOM                                                                                              \
	UNBLOAT_ROOM(                                                                                                 \
		32, struct sk_buff *const highest_sack; struct sk_buff *const retransmit_skb_hint;                    \
		struct sk_buff *const lost_skb_hint; struct sk_buff *const ooo_last_skb; const struct {               \
			__u32 space;                                                                                  \
			__u32 seq;                                                                                    \
			__u64 time;                                                                                   \
		} rcvq_space;                                                                                         \
		const struct {                                                                                        \
			__u32 probe_seq_start;                                                                        \
			__u32 probe_seq_end;                                                                          \
		} mtu_probe;                                                                                          \
		const struct tcp_sack_block duplicate_sack[1]; const struct tcp_sack_block selective_acks[4];         \
		const struct tcp_sack_block recv_sack_cache[4]; const int lost_cnt_hint; const __u32 rcv_ssthresh;    \
		const __u32 notsent_lowat; const __u32 tsoffset; const __u32 snd_up; const __u32 pushed_seq;          \
		const __u32 chrono_start; const __u32 chrono_stat[3]; const __be32 pred_flags;                        \
		const __u32 rcv_rtt_last_tsecr; const __u32 compressed_ack_rcv_nxt; const __u32 tcp_tx_delay;         \
		const __u32 last_oow_ack_time; const __u32 mtu_info; const __u32 rto_stamp;                           \
		const __u32 total_rto_time; const __u16 total_rto; const __u16 total_rto_recoveries;                  \
		const __u32 urg_seq; const __u16 urg_data; const __u16 timeout_rehash;                                \
		const unsigned int keepalive_time; const unsigned int keepalive_intvl; const int linger2;             \
		const __u32 rcv_ooopack; const __u32 plb_rehash; const __u8 scaling_ratio; const __u8 compressed_ack; \
		const __u8 keepalive_probes; const __u8 repair_queue; const __u8 bpf_sock_ops_cb_flags;               \
		const bool is_mptcp; UNBLOAT_BITS(const __u8, chrono_type, 2);                                        \
		UNBLOAT_BITS(const __u8, dup_ack_counter, 2); UNBLOAT_BITS(const __u8, recvmsg_inq, 1);               \
		UNBLOAT_BITS(const __u8, thin_lto, 1); UNBLOAT_BITS(const __u8, fastopen_connect, 1);                 \
		UNBLOAT_BITS(const __u8, fastopen_no_cookie, 1); UNBLOAT_BITS(const __u8, fastopen_client_fail, 2);   \
		UNBLOAT_BITS(const __u8, save_syn, 2); UNBLOAT_BITS(const __u8, syn_data, 1);                         \
		UNBLOAT_BITS(const __u8, syn_fastopen, 1); UNBLOAT_BITS(const __u8, syn_fastopen_exp, 1);             \
		UNBLOAT_BITS(const __u8, syn_fastopen_ch, 1); UNBLOAT_BITS(const __u8, syn_data_acked, 1);            \
		UNBLOAT_BITS(const __u8, bpf_chg_cc_inprogress, 1);)
/* clang-format on */

#endif
