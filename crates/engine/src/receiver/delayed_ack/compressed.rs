//! Compressed acknowledgements: the receiver waits for more duplicates, so that one acknowledgement reports several
//! (`__tcp_ack_snd_check`, `tcp_compressed_ack_kick`).

use model::units::Nanos;

/// Number of duplicates acknowledged at once, so that the sender finds the loss (`TCP_FASTRETRANS_THRESH`).
const PROMPT_DUPLICATES: u8 = 3;
/// The most duplicates that wait for one acknowledgement (`tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// The longest wait (`tcp_comp_sack_delay_ns`), unless the share of the round-trip time below is shorter.
const COMPRESSION_DELAY: Nanos = Nanos::from_millis(1);
const COMPRESSION_SHARE: u64 = 20;
/// Time by which the timer may ring later (`tcp_comp_sack_slack_ns`). It does so on a host that nothing else wakes.
const COMPRESSION_SLACK: Nanos = Nanos::from_micros(100);

/// The compressed acknowledgements of `tcp_sock`.
pub struct CompressedAcks {
    enabled: bool,
    /// Duplicates acknowledged at once since `prompt_of` was the next segment in order.
    prompt: u8,
    prompt_of: u32,
    /// Duplicates that wait for one acknowledgement.
    pub count: u32,
    /// The time at which the acknowledgement is due; `Nanos::NEVER` if no duplicate waits.
    pub until: Nanos,
    /// The arrival time of the last duplicate that waits.
    pub last_came: Nanos,
}

impl CompressedAcks {
    /// The state without a duplicate that waits; `enabled` allows compression.
    pub fn new(enabled: bool) -> CompressedAcks {
        CompressedAcks { enabled, prompt: 0, prompt_of: 0, count: 0, until: Nanos::NEVER, last_came: Nanos::ZERO }
    }

    /// Takes a duplicate that came while `next` is the next segment in order, and reports whether its acknowledgement
    /// waits. `timer_rings` is the time at which the timer of a second segment rings, or rang.
    pub fn takes(&mut self, now: Nanos, next: u32, round_trip: Nanos, timer_rings: Nanos) -> bool {
        if !self.enabled || self.count >= MAX_COMPRESSED {
            return false;
        }
        if self.prompt_of != next {
            self.prompt_of = next;
            self.prompt = 0;
        }
        if self.prompt < PROMPT_DUPLICATES {
            self.prompt += 1;
            return false;
        }
        self.count += 1;
        self.last_came = now;
        if self.count == 1 {
            let share = Nanos(round_trip.0 / COMPRESSION_SHARE);
            self.until = now + COMPRESSION_DELAY.min(share) + COMPRESSION_SLACK;
            if timer_rings > now {
                // A timer that rings for a second segment, after its acknowledgement has left, sends the compressed one
                // (`tcp_delack_timer_handler`).
                self.until = self.until.min(timer_rings);
            }
        }
        true
    }

    /// Notes that an acknowledgement leaves, which reports all duplicates that wait.
    #[inline]
    pub fn leave(&mut self) {
        self.count = 0;
        self.until = Nanos::NEVER;
    }
}
