//! The UDP echo: a probe comes back with the server's times of its arrival and departure.
//!
//! Nobody can use it against others: a probe without a token for its source address gets no answer. An answer has
//! exactly as many bytes as its probe.

use crate::server::Shared;
use crate::token::{self, Token};
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;
use zerocopy::byteorder::network_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What each packet of the echo begins with.
pub const MAGIC: [u8; 8] = *b"unbloat1";

/// Bytes of the smallest packet.
pub const LEAST_SIZE: usize = size_of::<Probe>();

/// Bytes of the largest packet that is answered.
pub const MOST_SIZE: usize = 1472;

/// How often the thread looks whether the server has ended.
const PATIENCE: Duration = Duration::from_millis(100);

/// A probe; any bytes may follow, and the answer has as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Probe {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// The client's number of the probe.
    pub number: U64,
    /// When the client sent the probe, in nanoseconds of the client's clock.
    pub sent: U64,
    /// The client's token.
    pub token: Token,
}

/// An answer; zeros follow, up to the length of the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Answer {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// The probe's number.
    pub number: U64,
    /// The probe's time of sending.
    pub sent: U64,
    /// When the probe arrived, in nanoseconds since the server's start.
    pub arrived: U64,
    /// When the answer left, in nanoseconds since the server's start.
    pub left: U64,
    /// Zeros: an answer is as long as a probe.
    pub rest: [u8; token::SIZE - 16],
}

const _: () = assert!(size_of::<Answer>() == size_of::<Probe>());

/// Reads a probe, if the packet is one.
pub fn read(packet: &[u8]) -> Option<Probe> {
    let (probe, _) = Probe::read_from_prefix(packet).ok()?;
    (probe.magic == MAGIC && packet.len() <= MOST_SIZE).then_some(probe)
}

/// Answers probes until the server ends.
pub(crate) fn answer_all(socket: &UdpSocket, shared: &Arc<Shared>) -> io::Result<()> {
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut packet = [0; MOST_SIZE + 1];
    while !shared.has_ended() {
        let (length, from) = match socket.recv_from(&mut packet) {
            Ok(received) => received,
            // An earlier answer met a closed port, or nothing came.
            Err(error) if is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let arrived = shared.now();
        let Some(probe) = read(&packet[..length]) else { continue };
        let both_ways = 2 * length as u64;
        if !shared.key.accepts(&probe.token, from.ip(), arrived) || shared.spend(from.ip(), both_ways).is_err() {
            continue;
        }
        let mut answer = Answer {
            magic: MAGIC,
            number: probe.number,
            sent: probe.sent,
            arrived: nanoseconds(arrived),
            left: U64::ZERO,
            rest: [0; token::SIZE - 16],
        };
        packet[LEAST_SIZE..length].fill(0);
        answer.left = nanoseconds(shared.now());
        packet[..LEAST_SIZE].copy_from_slice(answer.as_bytes());
        // An answer that cannot be sent now is a lost packet.
        let _ = socket.send_to(&packet[..length], from);
    }
    Ok(())
}

fn nanoseconds(time: Duration) -> U64 {
    U64::new(time.as_nanos() as u64)
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable, TimedOut, WouldBlock};
    matches!(
        error.kind(),
        ConnectionRefused | HostUnreachable | Interrupted | NetworkUnreachable | TimedOut | WouldBlock
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_ignored(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let probe = read(&bytes);
            prop_assert_eq!(probe.is_some(), bytes.starts_with(&MAGIC) && (LEAST_SIZE..=MOST_SIZE).contains(&bytes.len()));
        }
    }

    #[test]
    fn a_probe_has_48_bytes_in_network_order() {
        let probe = Probe { magic: MAGIC, number: U64::new(1), sent: U64::new(2), token: [3; token::SIZE] };
        let bytes = probe.as_bytes();
        assert_eq!(bytes.len(), 48);
        assert_eq!(bytes[15], 1);
        assert_eq!(read(bytes), Some(probe));
    }
}
