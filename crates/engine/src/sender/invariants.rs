//! Conditions that hold between any two events. Builds with debug assertions check them after every event, so every
//! test is a search for a breach.

use super::{Phase, Sender, rtt};
use crate::scoreboard::state;
use mechanism::sock::ca_state;
use model::units::Nanos;

/// The largest window that the check counts segment by segment.
const RECOUNTED: u32 = 128;

impl Sender {
    /// Panics, naming the flow, if the sender contradicts itself after an event at `now`.
    pub fn check_invariants(&self, now: Nanos) {
        #[cfg(test)]
        super::kept_members::observe(&self.sk);
        if self.phase == Phase::Established {
            self.check_counters();
            self.check_progress();
            if self.sk.packets_out <= RECOUNTED {
                self.check_scoreboard();
            }
        }
        assert!(
            self.timer.at() >= now && self.pace_at >= now,
            "flow {}: a timer is earlier than now, {now:?}: {:?}, pacer {:?}",
            self.flow,
            self.timer,
            self.pace_at
        );
        let (in_host, waits) = self.in_host();
        assert!(in_host > 0 || !waits, "flow {}: waits until something leaves its host, where nothing is", self.flow);
        assert!(
            self.phase != Phase::SynSent || self.timer.is_set(),
            "flow {}: nothing will repeat a lost SYN",
            self.flow
        );
    }

    fn check_counters(&self) {
        let sk = &self.sk;
        let flow = self.flow;
        assert_eq!(sk.packets_out, self.board.nxt - self.board.una, "flow {flow}: packets_out");
        assert!(
            sk.sacked_out + sk.lost_out <= sk.packets_out,
            "flow {flow}: sacked_out {} + lost_out {} > packets_out {}",
            sk.sacked_out,
            sk.lost_out,
            sk.packets_out
        );
        assert!(
            sk.retrans_out <= sk.packets_out,
            "flow {flow}: retrans_out {} > packets_out {}",
            sk.retrans_out,
            sk.packets_out
        );
        assert!(sk.snd_cwnd >= 1, "flow {flow}: cwnd 0");
        assert!(sk.snd_ssthresh >= 1, "flow {flow}: ssthresh 0");
        assert_eq!(sk.snd_una, self.seq(self.board.una), "flow {flow}: snd_una");
        assert_eq!(sk.snd_nxt, self.seq(self.board.nxt), "flow {flow}: snd_nxt");
        assert!((1..=rtt::RTO_MAX).contains(&sk.inet_conn.icsk_rto), "flow {flow}: rto {}", sk.inet_conn.icsk_rto);
    }

    /// Checks that a sender with something to do has a timer or a packet under way.
    fn check_progress(&self) {
        let flow = self.flow;
        if self.sk.packets_out > 0 {
            assert!(self.timer.is_set(), "flow {flow}: {} segments out, no timer set", self.sk.packets_out);
        } else {
            assert!(
                !self.has_new_data() || self.pace_at != Nanos::NEVER,
                "flow {flow}: nothing out, data to send, and nobody sends it"
            );
        }
    }

    /// Checks the counters against the segments that they count. It is one plain loop, because it runs after every
    /// event and tests are compiled with little optimisation.
    fn check_scoreboard(&self) {
        let (flow, sk) = (self.flow, &self.sk);
        let (mut sacked, mut lost, mut retransmitted) = (0, 0, 0);
        let mut n = self.board.una;
        while n < self.board.nxt {
            let segment = self.board.get(n);
            let bits = segment.state;
            sacked += u32::from(bits & state::SACKED != 0);
            lost += u32::from(bits & state::LOST != 0);
            retransmitted += u32::from(bits & state::RETRANS != 0);
            assert!(
                bits & state::SACKED == 0 || bits & state::LOST == 0,
                "flow {flow}: segment {n} is SACKed and given up"
            );
            // RACK's list has the segments in flight: not delivered, and not lost unless sent again.
            let in_flight = bits & state::SACKED == 0 && (bits & state::LOST == 0 || bits & state::RETRANS != 0);
            let looked_at = in_flight && bits & state::GIVEN_UP_BY_RACK == 0;
            assert_eq!(segment.listed, looked_at, "flow {flow}: segment {n} ({bits:#x}) in RACK's list");
            n += 1;
        }
        if self.stack.sack {
            assert_eq!(sk.sacked_out, sacked, "flow {flow}: sacked_out");
        }
        assert_eq!(sk.lost_out, lost, "flow {flow}: lost_out");
        assert_eq!(sk.retrans_out, retransmitted, "flow {flow}: retrans_out");
        assert!(
            sk.inet_conn.icsk_ca_state != ca_state::OPEN || sk.lost_out == 0,
            "flow {flow}: Open with {} lost segments",
            sk.lost_out
        );
    }
}
