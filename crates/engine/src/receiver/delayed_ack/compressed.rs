//! Duplicates whose acknowledgements wait for more of their kind, so that one reports several (`__tcp_ack_snd_check`,
//! `tcp_compressed_ack_kick`).

use model::units::Nanos;

/// Duplicates acknowledged at once, so that the sender finds the loss (`TCP_FASTRETRANS_THRESH`).
const PROMPT_DUPLICATES: u8 = 3;
/// At most so many duplicates wait for one acknowledgement (`tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// They wait at most so long (`tcp_comp_sack_delay_ns`), or this share of the round-trip time.
const COMPRESSION_DELAY: Nanos = Nanos::from_millis(1);
const COMPRESSION_SHARE: u64 = 20;
/// The timer may ring so much later (`tcp_comp_sack_slack_ns`). On a host that nothing else wakes it does.
const COMPRESSION_SLACK: Nanos = Nanos::from_micros(100);

/// The compressed acknowledgements of `tcp_sock`.
pub struct CompressedAcks {
    enabled: bool,
    /// Duplicates acknowledged at once since `prompt_of` was the next segment in order.
    prompt: u8,
    prompt_of: u32,
    /// Duplicates that wait for one acknowledgement.
    pub count: u32,
    /// When it is due; `Nanos::NEVER` if none waits.
    pub until: Nanos,
    /// When the last of them came.
    pub last_came: Nanos,
}

impl CompressedAcks {
    /// None waits.
    pub fn new(enabled: bool) -> CompressedAcks {
        CompressedAcks { enabled, prompt: 0, prompt_of: 0, count: 0, until: Nanos::NEVER, last_came: Nanos::ZERO }
    }

    /// A duplicate came while `next` is the next segment in order: whether its acknowledgement waits. `timer_rings` is
    /// when the timer of a second segment rings, or did.
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
                // What rings in vain for a second segment sends what is compressed (`tcp_delack_timer_handler`).
                self.until = self.until.min(timer_rings);
            }
        }
        true
    }

    /// An acknowledgement leaves, which stands for all that wait.
    #[inline]
    pub fn leave(&mut self) {
        self.count = 0;
        self.until = Nanos::NEVER;
    }
}
