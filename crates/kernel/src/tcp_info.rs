//! `TCP_INFO`: the state of a connection, as the kernel reports it (include/uapi/linux/tcp.h).

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd};

/// `struct tcp_info` up to the last member in use. An older kernel leaves the members that it does not have zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub window_scales: u8,
    pub delivery_rate_app_limited: u8,
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
    /// Since Linux 6.7.
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time: u32,
    /// The number of bytes that the kernel has filled in. The kernel's structure does not have this member.
    known: libc::socklen_t,
}

impl TcpInfo {
    /// Reads the present `TCP_INFO` of a socket.
    pub fn of(socket: impl AsFd) -> io::Result<TcpInfo> {
        let mut info = TcpInfo::default();
        let mut length = offset_of!(TcpInfo, known) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `info`, a plain structure that is valid with any of them.
        let status = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        info.known = length;
        if status == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether the connection is established and everything that was written is acknowledged.
    pub fn is_quiet(&self) -> bool {
        const ESTABLISHED: u8 = 1;
        self.state == ESTABLISHED && self.unacked == 0 && self.notsent_bytes == 0
    }

    /// Returns the number of retransmission timeouts since `before` was read. Kernels before 6.7 do not count them.
    /// There it is the increase of the timeouts in a row, which begin again with 0 when data is acknowledged. Two
    /// recoveries from timeouts between two reads then count as one.
    pub fn timeouts_since(&self, before: &TcpInfo) -> u64 {
        if self.known as usize > offset_of!(TcpInfo, total_rto) {
            return self.total_rto.wrapping_sub(before.total_rto) as u64;
        }
        let began_again = self.retransmits < before.retransmits;
        (self.retransmits - if began_again { 0 } else { before.retransmits }) as u64
    }

    /// Returns the number of packets in flight, as `tcp_packets_in_flight` does.
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets of the members are the kernel's interface.
    #[test]
    fn members_stand_where_the_kernel_writes_them() {
        assert_eq!(offset_of!(TcpInfo, rto), 8);
        assert_eq!(offset_of!(TcpInfo, rtt), 68);
        assert_eq!(offset_of!(TcpInfo, snd_cwnd), 80);
        assert_eq!(offset_of!(TcpInfo, pacing_rate), 104);
        assert_eq!(offset_of!(TcpInfo, delivery_rate), 160);
        assert_eq!(offset_of!(TcpInfo, delivered), 192);
        assert_eq!(offset_of!(TcpInfo, snd_wnd), 228);
        assert_eq!(offset_of!(TcpInfo, total_rto), 240);
    }

    fn timeouts(looks: impl Iterator<Item = TcpInfo>) -> u64 {
        let (_, count) = looks.fold((TcpInfo::default(), 0), |(before, count), info| {
            let more = info.timeouts_since(&before);
            (info, count + more)
        });
        count
    }

    #[test]
    fn timeouts_are_the_kernel_s_count_where_it_has_one() {
        let known = offset_of!(TcpInfo, known) as libc::socklen_t;
        let look = |(total_rto, retransmits)| TcpInfo { total_rto, retransmits, known, ..TcpInfo::default() };
        assert_eq!(timeouts([(0, 0), (1, 0), (4, 2), (4, 0)].into_iter().map(look)), 4);
    }

    /// Linux 6.1 does not fill in the count of timeouts.
    #[test]
    fn timeouts_of_an_older_kernel_are_its_backoffs() {
        let look = |retransmits| TcpInfo { retransmits, known: 240, ..TcpInfo::default() };
        // One timeout, then three in a row, and another one, whose first sample sees the end of the row before.
        assert_eq!(timeouts([0, 1, 1, 0, 0, 1, 2, 3, 0].into_iter().map(look)), 4);
        assert_eq!(timeouts([2, 1].into_iter().map(look)), 3);
    }
}
