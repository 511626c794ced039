/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A TCP segment as a program at a device sees it: a whole segment directly behind an IPv4 or IPv6 header. Fragments,
 * packets with extension headers and packets with contradictory lengths do not count as segments.
 *
 * The segments that a device gets at once may be more than 64 kB (GSO), with a loopback device's long segments
 * (tcp_tso_autosize takes two at least) and with BIG TCP. IP's length then says nothing. It is 0, or before Linux 6.3
 * its lower 16 bits, and BIG TCP puts a jumbo option of 8 bytes behind IPv6 (RFC 2675).
 */
#ifndef UNBLOAT_TCP_PACKET_H
#define UNBLOAT_TCP_PACKET_H

#include "bpf/bpf_endian.h"
#include "bpf/bpf_helpers.h"

#define TC_ACT_UNSPEC -1 /* the next filter decides */
#define TC_ACT_SHOT 2	 /* the packet is dropped */
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IPV4_HEADER 20
#define IPV6_HEADER 40
#define IPV6_HOP_BY_HOP 0
#define IPV6_JUMBO 8
#define MOST_LENGTH 0xffff
#define TCP_HEADER 20
#define TCP_OPTIONS 40
#define TCP_WINDOW_AT 14
#define TCP_CHECKSUM_AT 16
#define MOST_SCALE 14 /* RFC 7323, section 2.3 */

enum {
	FIN_FLAG = 1,
	SYN_FLAG = 2,
	RST_FLAG = 4,
	ACK_FLAG = 16
};

/* Both ends; an IPv4 address is in the last word, behind ::ffff. */
struct tcp_ends {
	__u32 from[4];
	__u32 to[4];
	__u16 from_port;
	__u16 to_port;
};

struct tcp_packet {
	struct tcp_ends ends;
	__u32 at;      /* where the TCP header begins */
	__u32 payload; /* bytes */
	__u32 segment; /* bytes in each segment, of those that are several at once */
	__u32 ack;
	__u32 options; /* bytes */
	__u16 window;  /* as it stands there */
	__u8 flags;
};

struct tcp_options {
	__u32 tsval;
	__u32 tsecr;
	__u32 sack_start;
	__u8 scale;
	bool has_scale;
	bool has_timestamps;
	bool has_sack;
};

struct ipv4_header {
	__u8 version_ihl, tos;
	__u16 total, id, fragment;
	__u8 ttl, protocol;
	__u16 checksum;
	__u32 from, to;
};

struct ipv6_header {
	__u32 version;
	__u16 payload;
	__u8 next, hops;
	__u32 from[4], to[4];
};

struct tcp_header {
	__u16 from_port, to_port;
	__u32 seq, ack;
	__u8 offset, flags;
	__u16 window, checksum, urgent;
};

/* The end of a packet that has this many bytes from `at` on, according to IP. */
static __always_inline __u32 tcp_packet_end(const struct __sk_buff *skb, __u32 at, __u32 bytes)
{
	return skb->gso_size && skb->len > at + MOST_LENGTH ? skb->len : at + bytes;
}

/* Where TCP begins behind an IPv4 header and where the packet ends, from the start of the frame; 0 if it is not TCP. */
static __always_inline __u32 tcp_behind_ipv4(const struct __sk_buff *skb, __u32 at, struct tcp_ends *ends, __u32 *end)
{
	struct ipv4_header ip;

	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.version_ihl >> 4 != 4)
		return 0;
	if (ip.protocol != IPPROTO_TCP || ip.fragment & bpf_htons(0x3fff))
		return 0;
	__u32 header = (ip.version_ihl & 15) * 4;

	if (header < IPV4_HEADER)
		return 0;
	ends->from[2] = ends->to[2] = bpf_htonl(0xffff);
	ends->from[3] = ip.from;
	ends->to[3] = ip.to;
	*end = tcp_packet_end(skb, at, bpf_ntohs(ip.total));
	return at + header;
}

static __always_inline __u32 tcp_behind_ipv6(const struct __sk_buff *skb, __u32 at, struct tcp_ends *ends, __u32 *end)
{
	struct ipv6_header ip;

	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) ||
	    (ip.version & bpf_htonl(0xf0000000)) != bpf_htonl(0x60000000))
		return 0;
	*end = tcp_packet_end(skb, at + IPV6_HEADER, bpf_ntohs(ip.payload));
	at += IPV6_HEADER;
	if (ip.next == IPV6_HOP_BY_HOP && *end - at > MOST_LENGTH) {
		if (bpf_skb_load_bytes(skb, at, &ip.next, sizeof(ip.next)))
			return 0;
		at += IPV6_JUMBO;
	}
	if (ip.next != IPPROTO_TCP)
		return 0;
	__builtin_memcpy(ends->from, ip.from, sizeof(ip.from));
	__builtin_memcpy(ends->to, ip.to, sizeof(ip.to));
	return at;
}

/* Reads a frame whose IP header begins at `ip`. Returns false if the caller has to leave it alone. */
static __always_inline bool tcp_packet_read(const struct __sk_buff *skb, __u32 ip, struct tcp_packet *packet)
{
	struct tcp_header tcp;
	__u32 end = 0;

	__builtin_memset(packet, 0, sizeof(*packet));
	if (skb->protocol == bpf_htons(ETH_P_IP))
		packet->at = tcp_behind_ipv4(skb, ip, &packet->ends, &end);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		packet->at = tcp_behind_ipv6(skb, ip, &packet->ends, &end);
	if (!packet->at || bpf_skb_load_bytes(skb, packet->at, &tcp, sizeof(tcp)))
		return false;
	__u32 header = (tcp.offset >> 4) * 4;

	if (header < TCP_HEADER || packet->at + header > end || end > skb->len)
		return false;
	packet->ends.from_port = tcp.from_port;
	packet->ends.to_port = tcp.to_port;
	packet->payload = end - packet->at - header;
	packet->segment = skb->gso_size ?: packet->payload;
	packet->ack = bpf_ntohl(tcp.ack);
	packet->options = header - TCP_HEADER;
	packet->window = bpf_ntohs(tcp.window);
	packet->flags = tcp.flags;
	return true;
}

#define TCP_OPTION_ROOM 64
#define ALIGNED_TIMESTAMPS 0x0101080a /* two that do nothing, then timestamps: what nearly every segment has */

/* Options on their way through bpf_loop(), whose body the verifier looks at once, whatever its rounds. */
struct tcp_options_reader {
	struct tcp_options found;
	__u32 length;
	__u32 at;
	__u8 bytes[TCP_OPTION_ROOM + 16];
};

static __always_inline __u32 tcp_option_number(const struct tcp_options_reader *reader, __u32 at)
{
	const __u8 *bytes = &reader->bytes[at & (TCP_OPTION_ROOM - 1)];

	return (__u32)bytes[0] << 24 | (__u32)bytes[1] << 16 | (__u32)bytes[2] << 8 | bytes[3];
}

static __always_inline void tcp_timestamps_read(struct tcp_options_reader *reader, __u32 at)
{
	reader->found.tsval = tcp_option_number(reader, at);
	reader->found.tsecr = tcp_option_number(reader, at + 4);
	reader->found.has_timestamps = true;
}

/* Takes the next option in; 1 if it was the last, or is faulty. */
static long tcp_option_read(__u32 round, struct tcp_options_reader *reader)
{
	__u32 at = reader->at & (TCP_OPTION_ROOM - 1);
	__u8 kind = reader->bytes[at], size = reader->bytes[at + 1];

	if (at >= reader->length || kind == 0)
		return 1;
	if (kind == 1) {
		reader->at = at + 1;
		return 0;
	}
	if (size < 2 || at + size > reader->length)
		return 1;
	if (kind == 3 && size == 3) {
		reader->found.scale = reader->bytes[at + 2];
		reader->found.has_scale = true;
	} else if (kind == 5 && size >= 10) {
		reader->found.sack_start = tcp_option_number(reader, at + 2);
		reader->found.has_sack = true;
	} else if (kind == 8 && size == 10) {
		tcp_timestamps_read(reader, at + 2);
	}
	reader->at = at + size;
	return 0;
}

/* Reads the options that matter here, up to a faulty one. */
static __always_inline void tcp_options_read(const struct __sk_buff *skb, const struct tcp_packet *packet,
					     struct tcp_options *options)
{
	struct tcp_options_reader reader = {.length = packet->options};
	__u32 length;

	__builtin_memset(options, 0, sizeof(*options));
	if (!packet->options)
		return;
	/* A multiple of four up to 40; written so that the verifier of any kernel sees that it is neither 0 nor large. */
	length = ((packet->options - 4) & (TCP_OPTION_ROOM - 1)) + 4;
	if (bpf_skb_load_bytes(skb, packet->at + TCP_HEADER, reader.bytes, length))
		return;
	if (length == 12 && tcp_option_number(&reader, 0) == ALIGNED_TIMESTAMPS)
		tcp_timestamps_read(&reader, 4);
	else
		bpf_loop(TCP_OPTIONS, tcp_option_read, &reader, 0);
	*options = reader.found;
}

#endif
