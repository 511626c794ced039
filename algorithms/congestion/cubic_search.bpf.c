/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUBIC with SEARCH, which leaves slow start when less is delivered than was sent a round trip before.
 *
 * From Chung, Kachooei, Li, Claypool, "SEARCH: a new slow start algorithm for TCP and QUIC",
 * draft-chung-ccwg-search-09, 2026. SEARCH means Slow start Exit At Right CHokepoint. Two implementations show the
 * details: Firefox's neqo the bins and the threshold, the authors' Linux module 4.0 the drain.
 *
 * Time is cut into bins of 0.35 of the first RTT. At the end of each bin SEARCH compares the bytes delivered in ten
 * bins with the bytes sent in the ten bins that ended an RTT earlier. On a path that is not full they are equal, since
 * what was sent arrives an RTT later. Slow start ends where
 *
 *    (sent - delivered) / sent >= 26 %
 *
 * The window then shrinks to what was delivered in the last ceil(1 / 0.35) = 3 bins, the bandwidth times the first RTT,
 * but not below the initial window. While it drains, one segment leaves for three that arrive. After that it is CUBIC,
 * see cubic.bpf.c.
 *
 * Where nothing is lost, that is some four first RTTs after the path is full, with five bandwidth-delay products in
 * flight. Shorter buffers overflow before.
 *
 * Departures and choices:
 *  - an RTT that ends within a bin is interpolated between that bin and the one before, as in neqo. The draft takes the
 *    one after, whose data were sent later;
 *  - bins hold bytes in 64 bits, where the draft suggests 16 bits and a shift. They need 384 bytes. A kernel has 104
 *    for a congestion control, so they are in a map for the socket;
 *  - SEARCH begins anew when more than ten bins have passed without an ACK, after a pause and after a loss. The draft
 *    leaves the first to the implementer;
 *  - the window does not grow while it drains;
 *  - without memory for the map it is CUBIC without an end of slow start.
 */
#define CUBIC_AS_BASE
#define CUBIC_OTHER_SLOW_START
#include "cubic.bpf.c"

PARAM(u32, bin_share, 35, 1, 100, "%", "length of a bin, of the first RTT");
PARAM(u32, thresh, 26, 1, 100, "%", "share of what was sent that has to be missing");
PARAM(u32, drain_acked, 3, 1, 100, "packets", "arrivals for which a segment leaves while the window drains");

#define BINS 10U       /* of a window */
#define EXTRA_BINS 15U /* an RTT may be as long */
#define ACKED_BINS 16U /* more than BINS, and a power of two: the verifier takes an index that is masked */
#define SENT_BINS 32U  /* more than BINS + EXTRA_BINS */

struct search {
	__u64 acked[ACKED_BINS]; /* bytes up to the end of each bin */
	__u64 sent[SENT_BINS];
	__u64 bin_end_us;
	__u32 bin_us; /* length; 0: not begun */
	__u32 bin;    /* the latest, from 0 */
	__u32 target; /* window to drain to; 0: not draining */
	__u32 rest;   /* arrivals that have not let a segment leave */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct search);
} searches SEC(".maps");

static __always_inline struct search *search_of(struct sock *sk)
{
	return bpf_sk_storage_get(&searches, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
}

static __always_inline void search_fill(struct search *search, __u32 bin, __u64 acked, __u64 sent)
{
	search->acked[bin % ACKED_BINS] = acked;
	search->sent[bin % SENT_BINS] = sent;
}

/* The first RTT after the beginning gives the length of a bin. */
static __always_inline void search_begin(const struct tcp_sock *tp, struct search *search, __u32 rtt_us)
{
	search->bin_us = max(rtt_us * bin_share / 100, 1U);
	search->bin_end_us = tp->tcp_mstamp + search->bin_us;
	search->bin = 0;
	search_fill(search, 0, tp->bytes_acked, tp->bytes_sent);
}

/* Ends the bins that are over; those without an ACK are as the one before. Returns false if they are too many. */
static __always_inline bool search_end_bins(const struct tcp_sock *tp, struct search *search)
{
	__u64 ended = (tp->tcp_mstamp - search->bin_end_us) / search->bin_us + 1;
	__u32 last = search->bin;
	__u64 acked = search->acked[last % ACKED_BINS], sent = search->sent[last % SENT_BINS];

	if (ended > BINS)
		return false;
	for (__u32 i = 1; i < BINS && i < ended; i++)
		search_fill(search, last + i, acked, sent);
	search->bin = last + ended;
	search->bin_end_us += ended * search->bin_us;
	search_fill(search, search->bin, tp->bytes_acked, tp->bytes_sent);
	return true;
}

static __always_inline __u64 search_delivered(const struct search *search, __u32 bins)
{
	return search->acked[search->bin % ACKED_BINS] - search->acked[(search->bin - bins) % ACKED_BINS];
}

/* Bytes of the window of bins that ends with `last`. */
static __always_inline __u64 search_sent(const struct search *search, __u32 last)
{
	return search->sent[last % SENT_BINS] - search->sent[(last - BINS) % SENT_BINS];
}

/* Bytes sent in the window that ended an RTT ago; 0 if the bins do not reach as far. */
static __always_inline __u64 search_sent_before(const struct search *search, __u32 rtt_us)
{
	__u32 back = rtt_us / search->bin_us;
	__u32 last = search->bin - back;
	__u32 part = (__u64)(rtt_us % search->bin_us) * 100 / search->bin_us;

	if (back >= EXTRA_BINS || search->bin <= BINS + back)
		return 0;
	return (search_sent(search, last - 1) * part + search_sent(search, last) * (100 - part)) / 100;
}

static __always_inline bool search_has_found(const struct search *search, __u32 rtt_us)
{
	__u64 sent = search_sent_before(search, rtt_us);
	__u64 delivered = search_delivered(search, BINS);

	return sent > delivered && (sent - delivered) * 100 >= sent * thresh;
}

static __always_inline void search_look(const struct tcp_sock *tp, struct search *search, __u32 rtt_us)
{
	if (!search->bin_us) {
		search_begin(tp, search, rtt_us);
		return;
	}
	if (tp->tcp_mstamp < search->bin_end_us)
		return;
	if (!search_end_bins(tp, search)) {
		search->bin_us = 0;
		return;
	}
	if (search_has_found(search, rtt_us)) {
		__u64 bytes = search_delivered(search, min((99U + bin_share) / bin_share, BINS));

		search->target = max((__u32)(bytes / tp->mss_cache), (__u32)TCP_INIT_CWND);
		search->rest = 0;
	}
}

static __always_inline void search_forget(struct sock *sk)
{
	struct search *search = search_of(sk);

	if (search) {
		search->bin_us = 0;
		search->target = 0;
	}
}

static __always_inline void search_drain(struct tcp_sock *tp, struct search *search, __u32 acked)
{
	__u32 arrived = search->rest + acked;
	__u32 cwnd = max(tcp_packets_in_flight(tp) + arrived / drain_acked, search->target);

	search->rest = arrived % drain_acked;
	tp->snd_cwnd = min(tp->snd_cwnd, cwnd);
	if (tp->snd_cwnd > search->target)
		return;
	tp->snd_ssthresh = tp->snd_cwnd;
	search->target = 0;
	search->bin_us = 0;
}

static __always_inline void cubic_search_init(struct sock *sk)
{
	cubic_init(sk);
	search_forget(sk);
}

static __always_inline void cubic_search_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	cubic_pkts_acked(sk, sample);
	if (sample->rtt_us <= 0 || !tcp_in_slow_start(tp))
		return;
	struct search *search = search_of(sk);

	if (search && !search->target)
		search_look(tp, search, sample->rtt_us);
}

static __always_inline void cubic_search_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct search *search = tcp_in_slow_start(tp) ? search_of(sk) : NULL;

	if (search && search->target)
		search_drain(tp, search, acked);
	else
		cubic_cong_avoid(sk, ack, acked);
}

static __always_inline __u32 cubic_search_ssthresh(struct sock *sk)
{
	search_forget(sk);
	return cubic_ssthresh(sk);
}

static __always_inline void cubic_search_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	cubic_cwnd_event(sk, event);
	if (event == CA_EVENT_CWND_RESTART)
		search_forget(sk);
}

INIT_PROGRAM(cubic_search_init)
CONG_AVOID_PROGRAM(cubic_search_cong_avoid)
SSTHRESH_PROGRAM(cubic_search_ssthresh)
SET_STATE_PROGRAM(cubic_set_state)
CWND_EVENT_PROGRAM(cubic_search_cwnd_event)
PKTS_ACKED_PROGRAM(cubic_search_pkts_acked)
UNDO_CWND_PROGRAM(tcp_reno_undo_cwnd)

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic_search = {
	.init = (void *)init,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.pkts_acked = (void *)pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "cubic_search",
};

char _license[] SEC("license") = "Dual BSD/GPL";
