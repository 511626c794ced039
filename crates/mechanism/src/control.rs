//! A congestion control, compiled, opened and bound: what the engine calls.

use crate::sock::{AckSample, RateSample, TcpSock};
use scenario::units::Nanos;

/// One loaded instance: one algorithm with one set of parameters. Not shared between runs.
pub struct Control {}

impl Control {
    /// Sets the clock that the next callbacks read.
    #[inline]
    pub fn set_now(&self, _now: Nanos) {}
    /// `tcp_congestion_ops.init`.
    pub fn init(&self, _sk: &mut TcpSock) {}
    /// `tcp_congestion_ops.cong_avoid`.
    pub fn cong_avoid(&self, _sk: &mut TcpSock, _ack: u32, _acked: u32) {}
    /// `tcp_congestion_ops.pkts_acked`.
    pub fn pkts_acked(&self, _sk: &mut TcpSock, _sample: &AckSample) {}
    /// `tcp_congestion_ops.cong_control`.
    pub fn cong_control(&self, _sk: &mut TcpSock, _ack: u32, _flag: i32, _rs: &RateSample) {}
}
