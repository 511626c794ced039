/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Self-description of a congestion control of this collection: its name and its parameters. */
#ifndef UNBLOAT_CONTROL_H
#define UNBLOAT_CONTROL_H

#include "bpf/bpf_helpers.h"
#include "bpf_tracing_net.h"

#ifdef __bpf__
extern unsigned long CONFIG_HZ __kconfig;
#define HZ CONFIG_HZ
#else
#define HZ UNBLOAT_HZ
#endif
#define USEC_PER_SEC 1000000UL
#define USEC_PER_MSEC 1000UL
#define USEC_PER_JIFFY (USEC_PER_SEC / HZ)

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* The socket's clock when the current packet arrived or left, us; it wraps after 71 minutes. */
static __always_inline __u32 clock_us(const struct sock *sk)
{
	return tcp_sk(sk)->tcp_mstamp;
}

static __always_inline __u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out + tp->retrans_out - (tp->sacked_out + tp->lost_out);
}

/*
 * Values that a stack of the simulator passes to a congestion control (SIM) or takes from it (SET_SIM), by the member's
 * name in struct tcp_sock's `sim`. A kernel's stack has no such member: SIM is 0 and SET_SIM has no effect.
 */
#ifdef __bpf__
#define SIM(tp, member) ((void)(tp), 0U)
#define SET_SIM(tp, member, value) ((void)(tp), (void)(value))
#else
#define SIM(tp, member) ((tp)->sim.member)
#define SET_SIM(tp, member, value) ((tp)->sim.member = (value))
#endif

/*
 * The name to register under, at most 15 characters. This macro is for congestion controls for which Linux has a module
 * of its own: in a kernel they need another name.
 */
#ifdef __bpf__
#define CONTROL_NAME(name) "ub_" name
#else
#define CONTROL_NAME(name) name
#endif

/*
 * PARAM(type, name, default, lowest, highest, unit, meaning): a global that is set before loading and constant
 * afterwards. `type` is u32 or bool; the bounds are literals; units: "us" (a duration), "%" or "/1024" (a share),
 * "bytes", "packets", or "" (a plain number). The description goes into a section of the object file, where
 * `unbloat list` and error messages find it. With FIXED_PARAMS the defaults hold.
 */
#if defined(FIXED_PARAMS)
#define PARAM(type, name, initial, lowest, highest, unit, meaning) static const type name = initial
#else
#define PARAM(type, name, initial, lowest, highest, unit, meaning) \
	const volatile type name = initial;                        \
	PARAM_DESCRIPTION(__COUNTER__, name, #name "|" #type "|" #lowest "|" #highest "|" unit "|" meaning)
#define PARAM_DESCRIPTION(place, name, text)                                                         \
	static const char unbloat_param_##name[] __attribute__((section(".unbloat.params"), used)) = \
		PARAM_TEXT(place) "|" text
#define PARAM_TEXT(place) #place
#endif

/*
 * SIMULATED_ONLY(why): for a congestion control that needs members of the socket that no kernel has. unbloat does not
 * load it into a kernel, and reports `why`.
 */
#define SIMULATED_ONLY(why) \
	static const char unbloat_simulated_only[] __attribute__((section(".unbloat.simulated"), used)) = why

/*
 * NEEDS_PARAM(names, why): the user must set one of these parameters, since no default suits every path. `names` are
 * separated by commas; `why` completes the error message behind "rtac needs bdp or inverse_k: ".
 */
#define NEEDS_PARAM(names, why) \
	static const char unbloat_needs[] __attribute__((section(".unbloat.needs"), used)) = names "|" why

#endif
