//! Makes frames for the programs, and parses frames in the obvious way, independently of the programs.

use kernel::WindowPrograms;
use libbpf_rs::Program;
use mechanism::{Library, WindowScope};
use model::{MechanismRef, MechanismSource, ParamValue};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::time::Duration;

pub const ETHERNET: usize = 14;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;
/// Size of `struct __sk_buff`, bytes; [`GSO_SEGS`] and [`GSO_SIZE`] are offsets of its members.
const CONTEXT: usize = 192;
const GSO_SEGS: usize = 164;
const GSO_SIZE: usize = 176;
/// `TC_ACT_UNSPEC` as a return value, which leaves the decision to the next filter.
const UNSPEC: u32 = u32::MAX;

/// The fields of a TCP segment, to make a frame of.
#[derive(Clone, Debug)]
pub struct Segment {
    pub v6: bool,
    pub from: (u16, u16),
    pub to: (u16, u16),
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: usize,
}

impl Segment {
    /// Makes a segment from end `from` to end `to`, each given by the number of a host and a port.
    pub fn new(from: (u16, u16), to: (u16, u16), flags: u8) -> Segment {
        Segment { v6: false, from, to, seq: 0, ack: 0, flags, window: 0xffff, options: vec![], payload: 0 }
    }

    pub fn frame(&self) -> Vec<u8> {
        let tcp_length = 20 + self.options.len() + self.payload;
        let mut frame = vec![0; ETHERNET - 2];
        if self.v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((tcp_length as u16).to_be_bytes());
            frame.extend([6, 64]);
            for (host, _) in [self.from, self.to] {
                frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                frame.extend(host.to_be_bytes());
            }
        } else {
            frame.extend([0x08, 0x00, 0x45, 0]);
            frame.extend((20 + tcp_length as u16).to_be_bytes());
            frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
            for (host, _) in [self.from, self.to] {
                frame.extend([10, 0]);
                frame.extend(host.to_be_bytes());
            }
        }
        let at = frame.len();
        frame.extend(self.from.1.to_be_bytes());
        frame.extend(self.to.1.to_be_bytes());
        frame.extend(self.seq.to_be_bytes());
        frame.extend(self.ack.to_be_bytes());
        frame.extend([((20 + self.options.len()) / 4 * 16) as u8, self.flags]);
        frame.extend(self.window.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(&self.options);
        frame.resize(frame.len() + self.payload, 0xa5);
        let checksum = !sum(&frame, at);
        frame[at + 16..at + 18].copy_from_slice(&checksum.to_be_bytes());
        frame
    }
}

pub fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    [&[1, 1, 8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat()
}

/// Returns the one's complement sum over pseudo header and segment of a frame whose TCP header begins at `at`. It is
/// 0xffff if the checksum is right.
fn sum(frame: &[u8], at: usize) -> u16 {
    let addresses = if frame[ETHERNET] >> 4 == 4 { &frame[26..34] } else { &frame[22..54] };
    let tcp = &frame[at..];
    let mut sum = 6 + tcp.len() as u128;
    // Both begin at an even byte. Eight bytes at once: a million of these are made without a compiler that optimises.
    for bytes in [addresses, tcp] {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            sum += u128::from(u64::from_be_bytes(*word));
        }
        for (at, byte) in rest.iter().enumerate() {
            sum += u128::from(*byte) << (8 - at % 2 * 8);
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The parsed fields of a frame with a whole TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The offset of the TCP header, bytes.
    pub at: usize,
    /// Addresses and ports.
    pub ends: Vec<u8>,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    /// The one's complement sum over the pseudo header and the whole frame behind the IP header.
    pub sum: u16,
    pub scale: Option<u8>,
}

/// Parses a frame; none unless a whole TCP segment, by the frame's lengths, follows the IP header.
pub fn read(frame: &[u8]) -> Option<Read> {
    let number = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
    let (at, end, addresses) = match number(12)? {
        0x0800 => {
            let first = *frame.get(ETHERNET)?;
            let header = usize::from(first & 15) * 4;
            let is_whole = first >> 4 == 4 && header >= 20 && number(20)? & 0x3fff == 0 && *frame.get(23)? == 6;
            is_whole.then_some(())?;
            (ETHERNET + header, ETHERNET + usize::from(number(16)?), frame.get(26..34)?)
        }
        0x86dd => {
            (*frame.get(ETHERNET)? >> 4 == 6 && *frame.get(20)? == 6).then_some(())?;
            (ETHERNET + 40, ETHERNET + 40 + usize::from(number(18)?), frame.get(22..54)?)
        }
        _ => return None,
    };
    let header = usize::from(*frame.get(at + 12)? >> 4) * 4;
    (header >= 20 && frame.len() >= at + 20 && at + header <= end && end <= frame.len()).then_some(())?;
    Some(Read {
        at,
        ends: [addresses, &frame[at..at + 4]].concat(),
        ack: u32::from_be_bytes(frame[at + 8..at + 12].try_into().ok()?),
        flags: frame[at + 13],
        window: number(at + 14)?,
        sum: sum(frame, at),
        scale: scale(&frame[at + 20..at + header]),
    })
}

/// Returns the value of the last window scale option before the first faulty option, as Linux does
/// (`tcp_parse_options`).
fn scale(mut options: &[u8]) -> Option<u8> {
    let mut found = None;
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [kind, length, ..] if kind != 0 && length >= 2 && usize::from(length) <= options.len() => {
                if (kind, length) == (3, 3) {
                    found = Some(options[2]);
                }
                options = &options[usize::from(length)..];
            }
            _ => return found,
        }
    }
}

pub const ALGORITHMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");

/// Returns a built-in window controller with these parameters.
pub fn window_controller(name: &str, params: &[(&str, i64)]) -> MechanismRef {
    let of_the_path = (name == "rtac").then_some(("bdp", 68));
    let params = of_the_path.iter().chain(params);
    let params = params.map(|(name, value)| (name.to_string(), ParamValue::Integer(*value))).collect();
    MechanismRef::new(MechanismSource::Builtin(name.into()), params)
}

/// Loads a window controller's programs as for a router's Ethernet device, because the segments of a test have no
/// socket.
pub fn on_a_router(controller: &MechanismRef) -> WindowPrograms {
    on_a_router_of(&Library::open(ALGORITHMS), controller)
}

/// Loads a window controller's programs as [`on_a_router`] does, with recording of every call.
pub fn recording_on_a_router(controller: &MechanismRef) -> WindowPrograms {
    on_a_router_of(&Library::recording(Path::new(ALGORITHMS)), controller)
}

fn on_a_router_of(library: &Library, controller: &MechanismRef) -> WindowPrograms {
    let scope = WindowScope { link_header: 14, forwards: true, ..WindowScope::default() };
    WindowPrograms::load(library, controller, &scope, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns host number and port of the client's end of a connection, and of the server's.
pub fn ends(number: u16) -> ((u16, u16), (u16, u16)) {
    ((number, 40_000), (1, 443))
}

/// The two programs of a window controller, to run without a device.
pub struct Programs<'a> {
    pub egress: Program<'a>,
    pub ingress: Program<'a>,
}

impl<'a> Programs<'a> {
    pub fn of(programs: &'a WindowPrograms) -> Programs<'a> {
        let named = |name: &str| programs.object().progs().find(|program| program.name() == name).expect("a program");
        Programs { egress: named("unbloat_egress"), ingress: named("unbloat_ingress") }
    }

    /// Runs the egress program on a frame, and returns the frame that leaves in its place.
    pub fn leaves(&self, frame: &[u8]) -> Vec<u8> {
        run(&self.egress, frame, 0, 1).0
    }

    /// Runs the ingress program on a frame. If `gso_size` is not zero, the card has merged the frame from several
    /// segments of that many bytes.
    pub fn comes(&self, frame: &[u8], gso_size: u32) -> Vec<u8> {
        run(&self.ingress, frame, gso_size, 1).0
    }

    /// Opens connection `number` of a client to port 443, with windows in steps of 128 bytes.
    pub fn connect(&self, number: u16) {
        let (near, far) = ends(number);
        let scale = vec![1, 3, 3, 7];
        self.leaves(&Segment { options: scale.clone(), ..Segment::new(near, far, SYN) }.frame());
        self.comes(&Segment { options: scale, ..Segment::new(far, near, SYN | ACK) }.frame(), 0);
    }
}

/// Runs a program `repeat` times on a frame. Returns the resulting frame, and the mean time of a run.
pub fn run(program: &Program, frame: &[u8], gso_size: u32, repeat: u32) -> (Vec<u8>, Duration) {
    let mut out = vec![0; frame.len() + 64];
    let mut context = [0_u8; CONTEXT];
    context[GSO_SIZE..GSO_SIZE + 4].copy_from_slice(&gso_size.to_ne_bytes());
    context[GSO_SEGS..GSO_SEGS + 4].copy_from_slice(&u32::from(gso_size > 0).to_ne_bytes());
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as u64,
        data_in: frame.as_ptr().cast(),
        data_size_in: frame.len() as u32,
        data_out: out.as_mut_ptr().cast(),
        data_size_out: out.len() as u32,
        ctx_in: context.as_mut_ptr().cast(),
        ctx_size_in: context.len() as u32,
        repeat: repeat as i32,
        ..Default::default()
    };
    // SAFETY: the pointers lead to as many bytes as are said.
    let failed = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_fd().as_raw_fd(), &mut options) };
    assert_eq!(failed, 0, "the program does not run on {frame:?}");
    assert_eq!(options.retval, UNSPEC);
    out.truncate(options.data_size_out as usize);
    (out, Duration::from_nanos(options.duration.into()))
}
