/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Input and answer of a classifier of a host's packets. The answer is the band of the host's transmit queue, counted
 * from 0, in which a packet waits. A band is served when all before it are empty. The simulated host calls the
 * classifier when a packet comes to its queue. In a kernel a program at the egress of the device calls it.
 *
 * A classifier's file does not touch sockets. The caller passes what it may know of the sending connection, in the
 * units of the kernel's memory accounting (sk_wmem_queued, sk_sndbuf, sk_wmem_alloc).
 */
#ifndef UNBLOAT_CLASSIFY_H
#define UNBLOAT_CLASSIFY_H

#include "control.h"

#define CLASSIFY_STATE_WORDS 4

/* The kind of a packet. */
enum {
	PACKET_TCP_DATA,
	PACKET_TCP_CONTROL, /* without payload: acknowledgements of a download, SYN, FIN, RST */
	PACKET_UDP,
	PACKET_OTHER,
};

/* A connection. */
struct classify_flow {
	__u64 own[CLASSIFY_STATE_WORDS]; /* the classifier's own state, all zero at first */
};

/* A packet that comes to the transmit queue, and its socket. */
struct classify_packet {
	__u32 kind;
	__u32 tos;	   /* type of service, the ECN bits excluded */
	__u32 wmem_queued; /* memory of all data in the send buffer, unsent or unacknowledged, bytes (sk_wmem_queued) */
	__u32 sndbuf;  /* memory that the send buffer may take, bytes (sk_sndbuf); 0 = the packet has no socket here */
	__u32 held;    /* payload in the send buffer, bytes (write_seq - snd_una) */
	__u32 unsent;  /* the part of that payload not sent before this packet, bytes (write_seq - snd_nxt) */
	__u32 in_host; /* memory of the connection's earlier packets that have not left the host, bytes */
};

/*
 * Flag beside a band: drops the data, which would wait there, before the queue. TCP learns of it at once
 * (NET_XMIT_DROP): it keeps the segment, which was not sent, and enters CWR. The flag has no effect on packets that are
 * not TCP data of a socket here.
 */
#define CLASSIFY_DROP (1U << 31)

/* Names the one function of a file that answers. A band beyond the queue's last counts as its last. */
#define CLASSIFIER(function)                                                                                           \
	__attribute__((visibility("default"))) __noinline __u32 unbloat_classify(struct classify_flow *flow,           \
										 const struct classify_packet *packet) \
	{                                                                                                              \
		/* The kernel's verifier checks this function by itself, without its callers. */                       \
		return flow && packet ? function(flow, packet) : 0;                                                    \
	}

__u32 unbloat_classify(struct classify_flow *flow, const struct classify_packet *packet);

/* The classifier's own part of a connection, as a pointer to one of its types. */
#define classify_own(flow, type)                                                  \
	({                                                                        \
		_Static_assert(sizeof(type) <= sizeof((flow)->own), "too large"); \
		(type *)(flow)->own;                                              \
	})

#ifdef __bpf__
#include "classify_program.h"
#endif

#endif
