//! Lists the numbers in a `struct tcp_sock` with their places, to compare two sockets. The bytes between the numbers
//! are padding, which has no value.

use mechanism::sock::{
    IcskAck, InetConnectionSock, LocalStorage, Minmax, MinmaxSample, SimSock, Sock, TcpOptionsReceived, TcpRack,
    TcpSock,
};
use std::mem::{offset_of, size_of};

/// A number within a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// The offset from the start of the structure, bytes.
    pub offset: usize,
    /// The number's size, bytes.
    pub size: usize,
    /// The value, as an unsigned number of the same size.
    pub value: u64,
}

/// Returns all numbers of a socket, in the order of their declaration.
pub(crate) fn numbers(sk: &TcpSock) -> Vec<Number> {
    let mut numbers = Vec::new();
    sk.add_numbers(0, &mut numbers);
    numbers
}

/// A type that consists of numbers.
trait Numbers {
    /// Appends the numbers of a value that begins at the offset `at`, bytes.
    fn add_numbers(&self, at: usize, numbers: &mut Vec<Number>);
}

macro_rules! integers {
    ($($type:ident as $unsigned:ident),+) => {
        $(impl Numbers for $type {
            fn add_numbers(&self, at: usize, numbers: &mut Vec<Number>) {
                numbers.push(Number { offset: at, size: size_of::<$type>(), value: (*self as $unsigned).into() });
            }
        })+
    };
}

integers!(u8 as u8, u16 as u16, u32 as u32, i32 as u32, u64 as u64);

impl<T: Numbers, const N: usize> Numbers for [T; N] {
    fn add_numbers(&self, at: usize, numbers: &mut Vec<Number>) {
        for (place, item) in self.iter().enumerate() {
            item.add_numbers(at + place * size_of::<T>(), numbers);
        }
    }
}

/// The native runtime's own state, which has nothing to compare.
impl Numbers for LocalStorage {
    fn add_numbers(&self, _: usize, _: &mut Vec<Number>) {}
}

/// Implements [`Numbers`] for a structure by its list of members; the compiler rejects an incomplete list.
macro_rules! structure {
    ($type:ident: $($member:ident),+) => {
        impl Numbers for $type {
            fn add_numbers(&self, at: usize, numbers: &mut Vec<Number>) {
                let $type { $($member),+ } = self;
                $($member.add_numbers(at + offset_of!($type, $member), numbers);)+
            }
        }
    };
}

structure!(Sock:
    sk_family, sk_state, sk_reuse, sk_num, sk_dport, common_room, sk_pacing_rate, sk_max_pacing_rate, sk_pacing_status,
    sk_gso_max_size, sk_wmem_queued, sk_sndbuf, sk_rcvbuf, sk_pacing_shift, room
);
structure!(IcskAck: pending, quick, pingpong, retry, ato, timeout, lrcvtime, last_seg_size, rcv_mss);
structure!(InetConnectionSock:
    sk, inet_room, icsk_ca_state, icsk_ca_initialized, icsk_ca_setsockopt, icsk_ca_dst_locked, icsk_retransmits, icsk_pending,
    icsk_backoff, icsk_rto, icsk_rto_min, icsk_delack_max, icsk_ack, icsk_ca_priv, unbloat_guard, room
);
structure!(TcpOptionsReceived:
    ts_recent, rcv_tsval, rcv_tsecr, saw_tstamp, tstamp_ok, dsack, wscale_ok, sack_ok, snd_wscale, rcv_wscale,
    num_sacks, mss_clamp, room
);
structure!(TcpRack:
    mstamp, rtt_us, end_seq, last_delivered, reo_wnd_steps, reo_wnd_persist, dsack_seen, advanced
);
structure!(MinmaxSample: t, v);
structure!(Minmax: s);
structure!(SimSock: storage, send_ack_pending, send_ack_rcv_nxt, period_us, mean_flow_rate, min_cwnd, rate_halving);
structure!(TcpSock:
    inet_conn, tcp_mstamp, tcp_clock_cache, tcp_wstamp_ns, bytes_acked, bytes_received, bytes_sent, bytes_retrans,
    first_tx_mstamp, delivered_mstamp, tcp_header_len, gso_segs, advmss, mss_cache, rcv_nxt, copied_seq, rcv_wup,
    rcv_wnd, window_clamp, snd_nxt, snd_una, snd_sml, write_seq, snd_wnd, max_window, snd_wl1, rcv_tstamp, lsndtime,
    segs_in, segs_out, data_segs_in, data_segs_out, snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_cwnd_used,
    snd_cwnd_stamp, snd_ssthresh, prior_cwnd, prior_ssthresh, prr_delivered, prr_out, high_seq, undo_marker,
    undo_retrans, retrans_stamp, total_retrans, packets_out, sacked_out, lost_out, retrans_out, max_packets_out,
    cwnd_usage_seq, delivered, delivered_ce, lost, app_limited, rate_delivered, rate_interval_us, reordering,
    reord_seen, dsack_dups, tlp_high_seq, srtt_us, mdev_us, mdev_max_us, rttvar_us, rtt_seq, rcv_rtt_est_us,
    ecn_flags, is_cwnd_limited, rate_app_limited, frto, is_sack_reneg, nonagle, repair, tlp_retrans, tcp_usec_ts,
    rtt_min, rack, rx_opt, room, sim
);
