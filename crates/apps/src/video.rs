//! The player of a film that arrives in pieces, each with a quality of its own. It models start-up,
//! pauses, and the choice of the quality.

use model::records::AppStats;
use model::units::{Bytes, Nanos, Rate};

/// Rate of each quality relative to the one below.
const STEP: f64 = 1.5;
/// Share of a piece's playing time in which its download should take place, at the rate of the
/// piece before.
const SHARE: f64 = 0.8;

/// A player, with its buffer and its statistics.
pub struct Player {
    qualities: Vec<Rate>,
    piece: Nanos,
    startup: Nanos,
    most: Nanos,
    opened: Nanos,
    /// The quality of the next request.
    quality: usize,
    /// Playing time in the buffer at `at`.
    buffered: Nanos,
    at: Nanos,
    plays: bool,
    started: Option<Nanos>,
    stalls: u64,
    stalled: Nanos,
    switches: u64,
    pieces: u64,
    bits: f64,
}

impl Player {
    /// Creates an empty player, which opens at `opened`.
    pub fn new(lowest: Rate, highest: Rate, piece: Nanos, startup: Nanos, most: Nanos, opened: Nanos) -> Player {
        let above = |rate: &Rate| Some(Rate((rate.0 as f64 * STEP) as u64)).filter(|rate| *rate <= highest);
        Player {
            qualities: std::iter::successors(Some(lowest), above).collect(),
            piece,
            startup,
            most,
            opened,
            quality: 0,
            buffered: Nanos::ZERO,
            at: opened,
            plays: false,
            started: None,
            stalls: 0,
            stalled: Nanos::ZERO,
            switches: 0,
            pieces: 0,
            bits: 0.0,
        }
    }

    /// Requests the next piece, and returns its size.
    pub fn asks(&mut self, now: Nanos) -> Bytes {
        self.play_until(now);
        let bits = self.qualities[self.quality].0 as f64 * self.piece.as_secs_f64();
        Bytes((bits / 8.0) as u64)
    }

    /// Adds the piece that was requested at `asked`, and returns when to request the next.
    pub fn has(&mut self, now: Nanos, asked: Nanos, size: Bytes) -> Nanos {
        self.play_until(now);
        let bits = 8.0 * size.0 as f64;
        self.pieces += 1;
        self.bits += bits;
        self.buffered += self.piece;
        if !self.plays && self.buffered >= self.startup {
            self.plays = true;
            self.started.get_or_insert(now);
        }
        let rate = bits / (now - asked).as_secs_f64().max(1e-9);
        let fits = |quality: &Rate| quality.0 as f64 <= SHARE * rate;
        let quality = self.qualities.iter().rposition(fits).unwrap_or(0);
        self.switches += u64::from(quality != self.quality);
        self.quality = quality;
        now + (self.buffered + self.piece).since(self.most)
    }

    /// Plays until `now`.
    fn play_until(&mut self, now: Nanos) {
        let passed = now - self.at;
        self.at = now;
        if !self.plays {
            if self.started.is_some() {
                self.stalled += passed;
            }
            return;
        }
        if passed > self.buffered {
            self.stalls += 1;
            self.stalled += passed - self.buffered;
            self.plays = false;
        }
        self.buffered = self.buffered.since(passed);
    }

    /// Returns the statistics that a person experienced until `end`.
    pub fn stats(&mut self, end: Nanos) -> AppStats {
        self.play_until(end.max(self.at));
        let watched = self.started.map(|started| end.since(started).as_secs_f64());
        let share = |watched: f64| 100.0 * self.stalled.as_secs_f64() / watched;
        let played = self.pieces as f64 * self.piece.as_secs_f64();
        AppStats {
            startup_s: self.started.map(|started| (started - self.opened).as_secs_f64()),
            stalls: Some(self.stalls),
            stalled_percent: watched.filter(|watched| *watched > 0.0).map(share),
            bitrate_mbps_mean: (self.pieces > 0).then(|| self.bits / played / 1e6),
            quality_switches: Some(self.switches),
            unfinished: Some(u64::from(self.started.is_none())),
            ..AppStats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    /// Pieces of 4 s at 1 to 2.25 Mbit/s; two of them start the player. The first arrives at 1 s,
    /// which is 4 Mbit/s, and the second at 3 s: it plays until 11 s. The third arrives at 13 s,
    /// and the player resumes with the fourth at 15 s.
    #[test]
    fn a_player_starts_stalls_and_adapts() {
        let mut player = Player::new(Rate(1_000_000), Rate(3_000_000), s(4), s(8), s(30), s(0));
        let size = player.asks(s(0));
        assert_eq!(size, Bytes(500_000));
        assert_eq!(player.has(s(1), s(0), size), s(1));
        assert_eq!(player.asks(s(1)), Bytes(1_125_000), "the highest below 3.2 Mbit/s");
        player.has(s(3), s(1), Bytes(1_125_000));
        player.has(s(13), s(3), Bytes(1_125_000));
        assert_eq!(player.asks(s(13)), Bytes(500_000));
        player.has(s(15), s(13), Bytes(500_000));
        let stats = player.stats(s(23));
        assert_eq!((stats.startup_s, stats.stalls, stats.stalled_percent), (Some(3.0), Some(1), Some(20.0)));
        assert_eq!(stats.bitrate_mbps_mean, Some((2.0 * 4.0 + 2.0 * 9.0) / 16.0));
        assert_eq!((stats.quality_switches, stats.unfinished), (Some(3), Some(0)));
        let never = Player::new(Rate(1_000_000), Rate(3_000_000), s(4), s(8), s(30), s(0)).stats(s(23));
        assert_eq!((never.startup_s, never.unfinished), (None, Some(1)));
    }

    /// With 28 s buffered of at most 30, the next piece of 4 s is requested 2 s later.
    #[test]
    fn a_full_buffer_waits() {
        let mut player = Player::new(Rate(1_000_000), Rate(1_000_000), s(4), s(400), s(30), s(0));
        let next: Vec<_> = (1..=7).map(|second| player.has(s(second), s(second - 1), Bytes(500_000))).collect();
        assert_eq!(next, [1, 2, 3, 4, 5, 6, 9].map(s));
    }
}
