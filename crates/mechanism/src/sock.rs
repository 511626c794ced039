//! The socket that a congestion control sees: the native layout of `struct tcp_sock` in `algorithms/include`.
//!
//! The engine has its own sender state here, so it copies nothing before a callback. Names and units are the kernel's.
//! `tests/mechanism/layout.rs` checks every offset against the C header.

use std::fmt;

/// `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Size of `icsk_ca_priv`, bytes.
pub const CA_PRIV_BYTES: usize = 104;
/// Jiffies a second (`CONFIG_HZ`): those of Debian's kernels.
pub const HZ: u64 = 250;

/// Reports whether this is a slow-start threshold. A congestion control returns at most `TCP_INFINITE_SSTHRESH`, or all
/// bits if it has no threshold. A kernel that skips its program takes a value from the stack for the result: half of an
/// address. No stock kernel does so, but one that is built to exempt some of its processes from programs may.
pub const fn is_ssthresh(packets: u32) -> bool {
    packets <= INFINITE_SSTHRESH || packets == u32::MAX
}

/// `enum tcp_ca_state`.
#[allow(missing_docs)]
pub mod ca_state {
    pub const OPEN: u8 = 0;
    pub const DISORDER: u8 = 1;
    pub const CWR: u8 = 2;
    pub const RECOVERY: u8 = 3;
    pub const LOSS: u8 = 4;
}

/// `enum tcp_ca_event`.
#[allow(missing_docs)]
pub mod ca_event {
    pub const TX_START: u32 = 0;
    pub const CWND_RESTART: u32 = 1;
    pub const COMPLETE_CWR: u32 = 2;
    pub const LOSS: u32 = 3;
    pub const ECN_NO_CE: u32 = 4;
    pub const ECN_IS_CE: u32 = 5;
}

/// `enum tcp_ca_ack_event_flags`.
#[allow(missing_docs)]
pub mod ack_event {
    pub const SLOWPATH: u32 = 1;
    pub const WIN_UPDATE: u32 = 2;
    pub const ECE: u32 = 4;
}

/// `ecn_flags`.
#[allow(missing_docs)]
pub mod ecn {
    pub const OK: u8 = 1;
    pub const QUEUE_CWR: u8 = 2;
    pub const DEMAND_CWR: u8 = 4;
    pub const SEEN: u8 = 8;
}

/// `icsk_ack.pending`.
#[allow(missing_docs)]
pub mod ack_pending {
    pub const SCHED: u8 = 1;
    pub const TIMER: u8 = 2;
    pub const PUSHED: u8 = 4;
    pub const PUSHED2: u8 = 8;
    pub const NOW: u8 = 16;
}

/// `tcp_congestion_ops.flags`: every process may choose the congestion control, and any network namespace may have it
/// as its default.
pub const TCP_CONG_NON_RESTRICTED: u32 = 0x1;
/// `tcp_congestion_ops.flags`: the congestion control works with ECN only (DCTCP).
pub const TCP_CONG_NEEDS_ECN: u32 = 0x2;

/// The members of `struct sock` that congestion controls read; the first four are `__sk_common`.
#[repr(C)]
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Sock {
    pub sk_family: u16,
    pub sk_state: u8,
    pub sk_reuse: u8,
    pub sk_num: u16,
    pub sk_dport: u16,
    /// Members of `__sk_common` that the simulator does not use (`unbloat/unmodelled.h`): zero.
    pub common_room: [u64; 14],
    pub sk_pacing_rate: u64,     // bytes a second
    pub sk_max_pacing_rate: u64, // bytes a second
    pub sk_pacing_status: u32,   // SK_PACING_NONE 0, NEEDED 1, FQ 2
    pub sk_gso_max_size: u32,
    pub sk_wmem_queued: i32,
    pub sk_sndbuf: i32,
    pub sk_rcvbuf: i32,
    pub sk_pacing_shift: u8,
    /// Members of `struct sock` that the simulator does not use: zero.
    pub room: [u64; 40],
}

/// `icsk_ack`, the receiver's delayed-acknowledgement state.
#[repr(C)]
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct IcskAck {
    pub pending: u8,
    pub quick: u8,
    pub pingpong: u8,
    pub retry: u8,
    pub ato: u32,
    pub timeout: u64,
    pub lrcvtime: u32,
    pub last_seg_size: u16,
    pub rcv_mss: u16,
}

/// `struct inet_connection_sock`.
#[repr(C)]
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct InetConnectionSock {
    pub sk: Sock,
    /// Members of `struct inet_sock` that the simulator does not use: zero.
    pub inet_room: [u64; 8],
    pub icsk_ca_state: u8,
    pub icsk_ca_initialized: u8,
    pub icsk_ca_setsockopt: u8,
    pub icsk_ca_dst_locked: u8,
    pub icsk_retransmits: u8,
    pub icsk_pending: u8,
    pub icsk_backoff: u8,
    pub icsk_rto: u32,     // jiffies
    pub icsk_rto_min: u32, // jiffies
    pub icsk_delack_max: u32,
    pub icsk_ack: IcskAck,
    pub icsk_ca_priv: [u64; CA_PRIV_BYTES / 8],
    /// Guard behind the private state: zero unless a congestion control wrote beyond it.
    pub unbloat_guard: [u64; 16],
    /// Members of `struct inet_connection_sock` that the simulator does not use: zero.
    pub room: [u64; 12],
}

/// `tcp_sock.rx_opt`.
#[repr(C)]
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct TcpOptionsReceived {
    pub ts_recent: u32,
    pub rcv_tsval: u32,
    pub rcv_tsecr: u32,
    pub saw_tstamp: u8,
    pub tstamp_ok: u8,
    pub dsack: u8,
    pub wscale_ok: u8,
    pub sack_ok: u8,
    pub snd_wscale: u8,
    pub rcv_wscale: u8,
    pub num_sacks: u8,
    pub mss_clamp: u16,
    /// Members of `tcp_sock.rx_opt` that the simulator does not use: zero.
    pub room: [u64; 1],
}

/// `tcp_sock.rack`.
#[repr(C)]
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct TcpRack {
    pub mstamp: u64, // us
    pub rtt_us: u32,
    pub end_seq: u32,
    pub last_delivered: u32,
    pub reo_wnd_steps: u8,
    pub reo_wnd_persist: u8,
    pub dsack_seen: u8,
    pub advanced: u8,
}

/// `struct minmax_sample`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct MinmaxSample {
    pub t: u32,
    pub v: u32,
}

/// `struct minmax`; `s[0].v` is the windowed minimum.
#[repr(C)]
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Minmax {
    pub s: [MinmaxSample; 3],
}

/// `struct tcp_sock`. Sequence numbers are bytes modulo 2^32, windows segments, times microseconds unless said
/// otherwise.
#[repr(C)]
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct TcpSock {
    pub inet_conn: InetConnectionSock,
    pub tcp_mstamp: u64,      // us, when the latest packet was sent or received
    pub tcp_clock_cache: u64, // ns
    pub tcp_wstamp_ns: u64,   // departure of the next paced packet, ns
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub first_tx_mstamp: u64,
    pub delivered_mstamp: u64,
    pub tcp_header_len: u16,
    pub gso_segs: u16,
    pub advmss: u16,
    pub mss_cache: u32,
    pub rcv_nxt: u32,
    pub copied_seq: u32,
    pub rcv_wup: u32,
    pub rcv_wnd: u32,
    pub window_clamp: u32,
    pub snd_nxt: u32,
    pub snd_una: u32,
    pub snd_sml: u32,
    pub write_seq: u32,
    pub snd_wnd: u32, // bytes
    pub max_window: u32,
    pub snd_wl1: u32,
    pub rcv_tstamp: u32, // jiffies
    pub lsndtime: u32,   // jiffies
    pub segs_in: u32,
    pub segs_out: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub snd_cwnd: u32,
    pub snd_cwnd_cnt: u32,
    pub snd_cwnd_clamp: u32,
    pub snd_cwnd_used: u32,
    pub snd_cwnd_stamp: u32, // jiffies
    pub snd_ssthresh: u32,
    pub prior_cwnd: u32,
    pub prior_ssthresh: u32,
    pub prr_delivered: u32,
    pub prr_out: u32,
    pub high_seq: u32,
    pub undo_marker: u32,
    pub undo_retrans: i32,
    pub retrans_stamp: u64,
    pub total_retrans: u32,
    pub packets_out: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,
    pub max_packets_out: u32,
    pub cwnd_usage_seq: u32,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub lost: u32,
    pub app_limited: u32,
    pub rate_delivered: u32,
    pub rate_interval_us: u32,
    pub reordering: u32,
    pub reord_seen: u32,
    pub dsack_dups: u32,
    pub tlp_high_seq: u32,
    pub srtt_us: u32, // x8
    pub mdev_us: u32, // x4
    pub mdev_max_us: u32,
    pub rttvar_us: u32,
    pub rtt_seq: u32,
    pub rcv_rtt_est_us: u32, // x8
    pub ecn_flags: u8,
    pub is_cwnd_limited: u8,
    pub rate_app_limited: u8,
    pub frto: u8,
    pub is_sack_reneg: u8,
    pub nonagle: u8,
    pub repair: u8,
    pub tlp_retrans: u8,
    pub tcp_usec_ts: u8, // timestamps count us, not ms
    pub rtt_min: Minmax,
    pub rack: TcpRack,
    pub rx_opt: TcpOptionsReceived,
    /// Members of `struct tcp_sock` that the simulator does not use: zero.
    pub room: [u64; 32],
    pub sim: SimSock,
}

/// State of the native runtime beside the kernel's members.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)]
pub struct SimSock {
    /// The socket's local storage of congestion controls.
    pub storage: LocalStorage,
    /// `bpf_tcp_send_ack` was called: the engine sends an ACK with `send_ack_rcv_nxt` and clears it.
    pub send_ack_pending: u32,
    pub send_ack_rcv_nxt: u32,
    /// Time that a congestion control asks the engine to wait before each window (`Gate`), us.
    pub period_us: u32,
    /// Mean rate of the flows that come up a mesh, as known to the socket's node, thousandths of a packet a second; 0
    /// if unknown.
    pub mean_flow_rate: u32,
    /// The least window of a repair as `ssthresh` sets it, segments; 0 for ssthresh itself. Only a stack with rate
    /// halving reads it.
    pub min_cwnd: u32,
    /// Nonzero if the stack halves its rate while it repairs a loss, down to `min_cwnd`.
    pub rate_halving: u32,
}

/// Local storage of a socket (`BPF_MAP_TYPE_SK_STORAGE`): a list of the native runtime, or null. `release` frees it.
#[repr(transparent)]
pub struct LocalStorage(*mut core::ffi::c_void);

// SAFETY: the list belongs to one socket alone and goes where it goes.
unsafe impl Send for LocalStorage {}

impl fmt::Debug for LocalStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Default for LocalStorage {
    fn default() -> LocalStorage {
        LocalStorage(core::ptr::null_mut())
    }
}

impl Clone for SimSock {
    /// Clones everything except the storage, which only the original will free.
    fn clone(&self) -> SimSock {
        SimSock { storage: LocalStorage::default(), ..*self }
    }
}

impl SimSock {
    /// Reports whether a congestion control has storage for this socket.
    pub fn has_storage(&self) -> bool {
        !self.storage.0.is_null()
    }
}

/// `struct ack_sample`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct AckSample {
    pub pkts_acked: u32,
    pub rtt_us: i32,
    pub in_flight: u32, // bytes
}

/// `struct rate_sample`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct RateSample {
    pub prior_mstamp: u64,
    pub prior_delivered: u32,
    pub prior_delivered_ce: u32,
    pub delivered: i32,
    pub delivered_ce: i32,
    pub interval_us: i64,
    pub snd_interval_us: u32,
    pub rcv_interval_us: u32,
    pub rtt_us: i64,
    pub losses: i32,
    pub acked_sacked: u32,
    pub prior_in_flight: u32,
    pub last_end_seq: u32,
    pub is_app_limited: u8,
    pub is_retrans: u8,
    pub is_ack_delayed: u8,
}

impl Default for TcpSock {
    fn default() -> Self {
        // SAFETY: every member is an integer, an array of integers or a raw pointer; all-zero is a value of each.
        let mut sk: TcpSock = unsafe { core::mem::zeroed() };
        sk.snd_cwnd_clamp = u32::MAX;
        sk.snd_ssthresh = INFINITE_SSTHRESH;
        // `tcp_init_sock`: without a sample the minimum exceeds any.
        sk.rtt_min.s = [MinmaxSample { t: 0, v: u32::MAX }; 3];
        sk.inet_conn.sk.sk_max_pacing_rate = u64::MAX;
        sk.inet_conn.sk.sk_pacing_rate = u64::MAX;
        sk.inet_conn.sk.sk_gso_max_size = 65_536;
        sk.inet_conn.sk.sk_pacing_shift = 10;
        sk
    }
}

impl TcpSock {
    /// `tcp_packets_in_flight`: segments that are sent, and neither delivered nor given up.
    #[inline]
    pub fn packets_in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).wrapping_sub(self.sacked_out + self.lost_out)
    }
    /// `tcp_in_slow_start`.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.snd_cwnd < self.snd_ssthresh
    }
    /// `tcp_min_rtt`, us.
    #[inline]
    pub fn min_rtt_us(&self) -> u32 {
        self.rtt_min.s[0].v
    }
}
