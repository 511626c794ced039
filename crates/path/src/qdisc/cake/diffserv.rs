//! The tins of CAKE's modes: their shares of the rate, and the code points of each.

use model::queue::Diffserv;

/// A tin's share of the rate, and its weight without a shaper.
pub(super) struct Share {
    /// How many times the rate is cut by an eighth.
    eighths_off: u32,
    /// How many times the rate is halved.
    halvings: u32,
    pub(super) quantum: u64,
}

impl Share {
    pub(super) fn of(&self, rate: u64) -> u64 {
        let cut = (0..self.eighths_off).fold(rate, |rate, _| (rate * 7) >> 3);
        cut >> self.halvings
    }
}

/// Returns the tins of a mode.
pub(super) fn shares(diffserv: Diffserv) -> Vec<Share> {
    let halved = |halvings: &[u32]| -> Vec<Share> {
        halvings.iter().map(|n| Share { eighths_off: 0, halvings: *n, quantum: 1024 >> n }).collect()
    };
    match diffserv {
        Diffserv::Besteffort => vec![Share { eighths_off: 0, halvings: 0, quantum: 65_535 }],
        Diffserv::Diffserv3 => halved(&[0, 4, 2]),
        Diffserv::Diffserv4 => halved(&[0, 4, 1, 2]),
        Diffserv::Diffserv8 | Diffserv::Precedence => {
            let quantum = |n| (0..n).fold(256u64, |quantum, _| (quantum * 7) >> 3);
            (0..8).map(|n| Share { eighths_off: n, halvings: 0, quantum: quantum(n) }).collect()
        }
    }
}

/// Code points by their names (RFC 2474, 2597, 3246, 5865, 8622; TOS of RFC 1349).
pub(super) const LE: u8 = 1;
const TOS_THROUGHPUT: u8 = 2;
const TOS_LOW_DELAY: u8 = 4;
const VOICE_ADMIT: u8 = 44;
pub(super) const EF: u8 = 46;

const fn cs(class: u8) -> u8 {
    class << 3
}

/// Returns the three code points of a class of assured forwarding.
const fn af(class: u8) -> [u8; 3] {
    [cs(class) + 2, cs(class) + 4, cs(class) + 6]
}

/// Returns the tin of each code point.
pub(super) fn code_points(diffserv: Diffserv) -> [u8; 64] {
    let mut tins = [0; 64];
    let mut put = |tin: u8, points: &[u8]| points.iter().for_each(|point| tins[*point as usize] = tin);
    match diffserv {
        Diffserv::Besteffort => {}
        Diffserv::Precedence => (0..64).for_each(|point| put(point >> 3, &[point])),
        Diffserv::Diffserv3 => {
            put(1, &[LE, cs(1)]);
            put(2, &[TOS_LOW_DELAY, VOICE_ADMIT, EF, cs(6), cs(7)]);
        }
        Diffserv::Diffserv4 => {
            put(1, &[LE, cs(1)]);
            put(2, &[TOS_LOW_DELAY, cs(2), cs(3)]);
            [2, 3, 4].iter().for_each(|class| put(2, &af(*class)));
            put(3, &[cs(4), cs(5), VOICE_ADMIT, EF, cs(6), cs(7)]);
        }
        Diffserv::Diffserv8 => {
            (0..64).for_each(|point| put(2, &[point]));
            put(0, &[LE]);
            put(1, &[TOS_THROUGHPUT, cs(1)]);
            put(1, &af(1));
            put(3, &[cs(3)]);
            [3, 4].iter().for_each(|class| put(3, &af(*class)));
            put(4, &[TOS_LOW_DELAY]);
            put(4, &af(2));
            put(5, &[cs(2)]);
            put(6, &[cs(4), cs(5), VOICE_ADMIT, EF]);
            put(7, &[cs(6), cs(7)]);
        }
    }
    tins
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the tins of code points by their names (tc-cake(8)).
    #[test]
    fn code_points_go_to_their_tins() {
        let tins =
            |mode, points: &[u8]| points.iter().map(|point| code_points(mode)[*point as usize]).collect::<Vec<_>>();
        let points = [0, LE, cs(1), TOS_LOW_DELAY, af(1)[0], af(2)[1], af(4)[2], cs(5), EF, cs(6), 63];
        assert_eq!(tins(Diffserv::Besteffort, &points), [0; 11]);
        assert_eq!(tins(Diffserv::Diffserv3, &points), [0, 1, 1, 2, 0, 0, 0, 0, 2, 2, 0]);
        assert_eq!(tins(Diffserv::Diffserv4, &points), [0, 1, 1, 2, 0, 2, 2, 3, 3, 3, 0]);
        assert_eq!(tins(Diffserv::Diffserv8, &points), [2, 0, 1, 4, 1, 4, 3, 6, 6, 7, 2]);
        assert_eq!(tins(Diffserv::Precedence, &points), [0, 0, 1, 0, 1, 2, 4, 5, 5, 6, 7]);
    }
}
