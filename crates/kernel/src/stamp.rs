//! Writes into each packet the time at which it joined the queue of an emulated host.

use crate::messages::listening;
use crate::send_buffers::{self, SendBuffers};
use crate::tc_program::TcProgram;
use crate::tun;
use libbpf_rs::{MapCore, Object, ObjectBuilder, TC_EGRESS};
use mechanism::Error;
use model::units::Nanos;
use std::os::fd::AsFd;

/// The program, which runs before a classifier's.
const PROGRAM: TcProgram = TcProgram { name: "unbloat_stamp", point: TC_EGRESS, priority: 0x4246 };
/// The compiled `stamp.bpf.c`; empty if it was built without clang.
const COMPILED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stamp.bpf.o"));
/// Place of the IPv4 identification, which has the time, behind a `virtio_net_hdr`.
const IDENTIFICATION: std::ops::Range<usize> = tun::HEADER + 4..tun::HEADER + 6;
/// Number of bits of the time.
const BITS: u32 = 16;
/// Binary logarithm of the finest unit in ns: 2^15 ns are 33 us, and the bits cover 2 s.
const LEAST_SHIFT: u32 = 15;

/// A loaded program that writes into each packet when it joined its host's queue.
pub struct Stamp {
    object: Object,
    shift: u32,
}

/// Reads from packets when they joined their host's queue.
#[derive(Clone, Copy, Debug)]
pub struct StampReader {
    shift: u32,
    /// Time of the kernel's monotonic clock at the start of the run's clock.
    origin: Nanos,
}

impl Stamp {
    /// Loads the program for packets that wait no longer than `longest`.
    ///
    /// # Errors
    /// Fails if the kernel refuses it, or this build had no clang.
    pub fn load(longest: Nanos) -> Result<Stamp, Error> {
        if COMPILED.is_empty() {
            return Err(Error::machine(
                "this build of unbloat cannot measure how long packets wait in a host, because clang was missing: \
                 install clang and build again",
            ));
        }
        let shift = shift_for(longest);
        let (loaded, said) = listening(|| {
            let mut object = ObjectBuilder::default().open_memory(COMPILED)?;
            let mut constants = object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".rodata"));
            let constants =
                constants.as_mut().and_then(|map| map.initial_value_mut()).expect("the unit is its only constant");
            constants[..size_of::<u32>()].copy_from_slice(&shift.to_ne_bytes());
            object.load()
        });
        let object = loaded.map_err(|error| {
            let sentence = format!("the kernel refuses the program that measures how long packets wait: {error}");
            let mut error = Error::machine(sentence);
            error.log = Some(said);
            error
        })?;
        Ok(Stamp { object, shift })
    }

    /// Returns a reader of its times for a run at whose start the kernel's clock shows `origin`.
    pub fn reader(&self, origin: Nanos) -> StampReader {
        StampReader { shift: self.shift, origin }
    }

    /// Returns a reader of send buffers for a run at whose start the kernel's clock shows `origin`.
    ///
    /// # Errors
    /// Fails if the kernel refuses to map the ring buffer.
    pub fn send_buffers(&self, origin: Nanos) -> libbpf_rs::Result<SendBuffers> {
        let map = self.object.maps().find(|map| map.name() == send_buffers::MAP).expect("the program declares it");
        SendBuffers::new(&map, origin)
    }

    /// Attaches the program to the egress of a device.
    ///
    /// # Errors
    /// Fails if the kernel refuses it.
    pub fn attach(&self, device: u32) -> libbpf_rs::Result<()> {
        let program = self.object.progs().next().expect("it has one program");
        let (done, _) = listening(|| PROGRAM.attach(program.as_fd(), device));
        done
    }
}

/// Returns the shift for packets that wait up to `longest`. Half of the range stays free: a packet
/// may be examined late, or early in virtual time.
fn shift_for(longest: Nanos) -> u32 {
    let fits = |shift: &u32| longest.0 < 1 << (shift + BITS - 1);
    (LEAST_SHIFT..u64::BITS - BITS).find(fits).expect("no run is as long")
}

impl StampReader {
    /// Returns when a packet joined the queue that it left at `now`; `sent` begins with its
    /// `virtio_net_hdr`.
    pub fn came(self, now: Nanos, sent: &[u8]) -> Nanos {
        let stamp = u16::from_be_bytes([sent[IDENTIFICATION.start], sent[IDENTIFICATION.start + 1]]);
        now.since(self.waited(stamp, now + self.origin))
    }

    /// Returns how long a packet with this time has waited at `now` of the kernel's monotonic
    /// clock, to half a unit.
    fn waited(self, stamp: u16, now: Nanos) -> Nanos {
        let (unit, whole) = (1u64 << self.shift, 1u64 << (self.shift + BITS));
        // The middle of its unit.
        let came = (u64::from(stamp) << self.shift) + unit / 2;
        let waited = now.0.wrapping_sub(came) % whole;
        // In virtual time a packet may have joined later than its stamp says.
        if waited > whole - whole / 16 { Nanos::ZERO } else { Nanos(waited) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp_at(now: Nanos, reader: StampReader) -> u16 {
        (now.0 >> reader.shift) as u16
    }

    /// The time is right whatever the clock shows, and when its low bits wrap.
    #[test]
    fn a_wait_is_read_to_half_a_unit() {
        let reader = StampReader { shift: shift_for(Nanos::from_secs(3)), origin: Nanos::ZERO };
        let half_a_unit = 1u64 << (reader.shift - 1);
        for came in [0, 1, 77_777_777, (1 << 33) - 1, u64::MAX >> 8] {
            for wait in [0, 100_000, 2_999_999_999] {
                let now = Nanos(came + wait);
                let read = reader.waited(stamp_at(Nanos(came), reader), now);
                assert!(read.0.abs_diff(wait) <= half_a_unit, "{read:?} of {wait} ns from {came} on");
            }
        }
    }

    #[test]
    fn a_packet_that_comes_after_its_time_has_not_waited() {
        let reader = StampReader { shift: shift_for(Nanos::from_millis(1)), origin: Nanos::ZERO };
        assert_eq!(reader.shift, LEAST_SHIFT);
        let came = Nanos::from_secs(100);
        assert_eq!(reader.waited(stamp_at(came, reader), came.since(Nanos::from_micros(40))), Nanos::ZERO);
    }
}
