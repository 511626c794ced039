/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gives the TCP connections of a control group a congestion control.
 *
 * The kernel asks about every connection of the group and of the groups below it. It runs the programs of a
 * connection's own group first and those of the root last (compute_effective_progs() in kernel/bpf/cgroup.c), all with
 * one context. So the first of these programs that has chosen says so in the reply, and the others leave the
 * connection alone: the innermost group's choice stands. The kernel itself ignores the reply to these two questions.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define SOL_TCP 6
#define TCP_CONGESTION 13
#define TCP_CA_NAME_MAX 16
/* Somebody else's program is not likely to reply this. */
#define CHOSEN 0x75b10a7d

/* The control's name; the loader sets it. */
const volatile char control[TCP_CA_NAME_MAX] = "";

SEC("sockops") int unbloat_choose(struct bpf_sock_ops *connection)
{
	char name[TCP_CA_NAME_MAX];

	if (connection->op != BPF_SOCK_OPS_TCP_CONNECT_CB && connection->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	if (connection->reply == CHOSEN)
		return 1;
	for (int i = 0; i < TCP_CA_NAME_MAX; i++)
		name[i] = control[i];
	/* Where this fails, a group further out may choose. */
	if (bpf_setsockopt(connection, SOL_TCP, TCP_CONGESTION, name, sizeof(name)) == 0)
		connection->reply = CHOSEN;
	return 1;
}

char _license[] SEC("license") = "Dual BSD/GPL";
