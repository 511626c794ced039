/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sorpc: sends connections that fill their send buffers behind everything else.
 *
 * From Im, "TCP Performance Enhancement in Wireless Networks", dissertation, Seoul National University, 2015, chapter 3
 * (SOR-based packet classification). A program that uploads a file writes faster than the path carries, and its send
 * buffer fills. A program that sends a message does not fill it. So sorpc compares the contents of the send buffer with
 * its size,
 *
 *    SOR = Q / sndbuf                                         (3.1)
 *
 * and tells the two apart without a look into packets. From sor_threshold on, a connection's data wait in the second
 * queue, which is served when the first is empty. UDP, acknowledgements without data and all packets that are not TCP
 * go first.
 *
 * Choices that the text leaves open:
 *  - Q is "the amount of data piled up in the sendbuffer". Here Q is all that the buffer holds, unsent or
 *    unacknowledged, as the kernel counts it; with unsent_only it is the unsent part.
 *  - A connection that falls below the threshold would overtake its own packets, which looks like loss to TCP. With
 *    no_overtake it stays in the second queue until none of its packets is left in the host.
 *  - Data whose socket is elsewhere, such as data that a router forwards, go last.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "send_buffer_ratio.h"

CLASSIFIER(sorpc_band)

char _license[] SEC("license") = "Dual BSD/GPL";
