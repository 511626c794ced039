//! Tests of the socket's layout: every member of the Rust mirror is at the offset of the C header.

use crate::harness::compile_text;
use std::mem::offset_of;
use unbloat_mechanism::sock::{
    AckSample, IcskAck, InetConnectionSock, Minmax, MinmaxSample, RateSample, SimSock, Sock, TcpOptionsReceived,
    TcpRack, TcpSock,
};

/// A member: its path in C, its offset and its size in Rust.
struct Member {
    structure: &'static str,
    path: &'static str,
    offset: usize,
    size: usize,
    align: usize,
}

fn size_and_align<S, M>(_: fn(&S) -> &M) -> (usize, usize) {
    (size_of::<M>(), align_of::<M>())
}

macro_rules! members {
    ($type:ident, $structure:literal: $($member:ident $(= $path:literal)?),+ $(,)?) => {
        (
            $structure,
            size_of::<$type>(),
            vec![$(Member {
                structure: $structure,
                path: [$($path,)? stringify!($member)][0],
                offset: offset_of!($type, $member),
                size: size_and_align(|s: &$type| &s.$member).0,
                align: size_and_align(|s: &$type| &s.$member).1,
            }),+],
        )
    };
}

fn structures() -> Vec<(&'static str, usize, Vec<Member>)> {
    let structure = "typeof(((struct tcp_sock *)0)->sim)";
    let (offset, size, align) = (0, size_of::<usize>(), align_of::<usize>());
    let mut all = visible();
    // Other crates cannot name this member.
    let private = Member { structure, path: "storage", offset, size, align };
    let sim = all.iter_mut().find(|(name, ..)| *name == structure).expect("it is among them");
    sim.2.insert(0, private);
    all
}

fn visible() -> Vec<(&'static str, usize, Vec<Member>)> {
    vec![
        members!(Sock, "struct sock": sk_family, sk_state, sk_reuse = "__sk_common.skc_reuse", sk_num, sk_dport,
            common_room = "__sk_common.unbloat_room",
            sk_pacing_rate, sk_max_pacing_rate, sk_pacing_status, sk_gso_max_size, sk_wmem_queued, sk_sndbuf, sk_rcvbuf,
            sk_pacing_shift, room = "unbloat_room"),
        members!(IcskAck, "typeof(((struct inet_connection_sock *)0)->icsk_ack)": pending, quick, pingpong, retry, ato,
            timeout, lrcvtime, last_seg_size, rcv_mss),
        members!(InetConnectionSock, "struct inet_connection_sock": sk = "icsk_inet.sk", inet_room = "icsk_inet.unbloat_room", icsk_ca_state,
            icsk_ca_initialized, icsk_ca_setsockopt, icsk_ca_dst_locked, icsk_retransmits, icsk_pending, icsk_backoff,
            icsk_rto, icsk_rto_min, icsk_delack_max, icsk_ack, icsk_ca_priv, unbloat_guard, room = "unbloat_room"),
        members!(TcpOptionsReceived, "struct tcp_options_received": ts_recent, rcv_tsval, rcv_tsecr, saw_tstamp,
            tstamp_ok, dsack, wscale_ok, sack_ok, snd_wscale, rcv_wscale, num_sacks, mss_clamp, room = "unbloat_room"),
        members!(TcpRack, "struct tcp_rack": mstamp, rtt_us, end_seq, last_delivered, reo_wnd_steps, reo_wnd_persist,
            dsack_seen, advanced),
        members!(MinmaxSample, "struct minmax_sample": t, v),
        members!(Minmax, "struct minmax": s),
        members!(SimSock, "typeof(((struct tcp_sock *)0)->sim)": send_ack_pending, send_ack_rcv_nxt, period_us,
            mean_flow_rate, min_cwnd, rate_halving),
        members!(AckSample, "struct ack_sample": pkts_acked, rtt_us, in_flight),
        members!(RateSample, "struct rate_sample": prior_mstamp, prior_delivered, prior_delivered_ce, delivered,
            delivered_ce, interval_us, snd_interval_us, rcv_interval_us, rtt_us, losses, acked_sacked, prior_in_flight,
            last_end_seq, is_app_limited, is_retrans, is_ack_delayed),
        tcp_sock(),
    ]
}

fn tcp_sock() -> (&'static str, usize, Vec<Member>) {
    members!(TcpSock, "struct tcp_sock": inet_conn, tcp_mstamp, tcp_clock_cache, tcp_wstamp_ns, bytes_acked,
        bytes_received, bytes_sent, bytes_retrans, first_tx_mstamp, delivered_mstamp, tcp_header_len, gso_segs, advmss,
        mss_cache, rcv_nxt, copied_seq, rcv_wup, rcv_wnd, window_clamp, snd_nxt, snd_una, snd_sml, write_seq, snd_wnd,
        max_window, snd_wl1, rcv_tstamp, lsndtime, segs_in, segs_out, data_segs_in, data_segs_out, snd_cwnd,
        snd_cwnd_cnt, snd_cwnd_clamp, snd_cwnd_used, snd_cwnd_stamp, snd_ssthresh, prior_cwnd, prior_ssthresh,
        prr_delivered, prr_out, high_seq, undo_marker, undo_retrans, retrans_stamp, total_retrans, packets_out,
        sacked_out, lost_out, retrans_out, max_packets_out, cwnd_usage_seq, delivered, delivered_ce, lost, app_limited,
        rate_delivered, rate_interval_us, reordering, reord_seen, dsack_dups, tlp_high_seq, srtt_us, mdev_us,
        mdev_max_us, rttvar_us, rtt_seq, rcv_rtt_est_us = "rcv_rtt_est.rtt_us", ecn_flags, is_cwnd_limited,
        rate_app_limited, frto, is_sack_reneg, nonagle, repair, tlp_retrans, tcp_usec_ts, rtt_min, rack, rx_opt, room = "unbloat_room", sim)
}

/// A C file with a table of the compiler's offsets and sizes of each member and each structure.
fn table(structures: &[(&str, usize, Vec<Member>)]) -> String {
    let mut code = String::from("#include \"vmlinux.h\"\n#include \"bpf_tracing_net.h\"\n__u64 table[] = {\n");
    for (structure, _, members) in structures {
        for Member { structure, path, .. } in members {
            code += &format!("\toffsetof({structure}, {path}), sizeof((({structure} *)0)->{path}),\n");
        }
        code += &format!("\tsizeof({structure}),\n");
    }
    code + "};\n"
}

#[test]
fn every_member_stands_where_the_c_header_puts_it() {
    let structures = structures();
    let library = compile_text("layout", &table(&structures));
    // SAFETY: the file defines the table, with two numbers for each member and one for each structure.
    let table = unsafe { library.get::<*const u64>(b"table\0").expect("the table").into_raw() } as *const u64;
    let mut at = 0;
    let mut next = || {
        at += 1;
        // SAFETY: as above.
        unsafe { table.add(at - 1).read() as usize }
    };
    for (structure, size, members) in &structures {
        for member in members {
            assert_eq!((next(), next()), (member.offset, member.size), "{}.{}", member.structure, member.path);
        }
        assert_eq!(next(), *size, "{structure}");
    }
}

/// Each member follows the one before at the first suitable offset, so the list above is complete.
#[test]
fn the_members_above_are_all_there_are() {
    for (structure, size, mut members) in structures() {
        members.sort_by_key(|member| member.offset);
        let mut end = 0_usize;
        let mut align = 1;
        for member in &members {
            assert_eq!(member.offset, end.next_multiple_of(member.align), "{structure}: before {}", member.path);
            end = member.offset + member.size;
            align = align.max(member.align);
        }
        assert_eq!(size, end.next_multiple_of(align), "{structure}: at the end");
    }
}
