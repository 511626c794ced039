//! Properties of any congestion control that measures one-way delays.

use super::{ack, at, lose, socket_with_timestamps};
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{INFINITE_SSTHRESH, TcpSock, ca_state};

/// The two clocks: the sender's at the start, the receiver's lead, and the length of a tick of both.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    ours: u32,
    ahead: u32,
    tick_us: u32,
}

/// Delays of a path without a queue, with one that fills, empties and fills again, ms.
const DELAYS: [u32; 12] = [20, 20, 24, 31, 52, 70, 150, 90, 45, 20, 20, 130];

/// The windows of a connection with a loss, a timeout and an hour's silence.
fn windows(control: &Control, clocks: Clocks) -> Vec<(u32, u32)> {
    let mut sk = socket_with_timestamps(20, INFINITE_SSTHRESH);
    sk.tcp_usec_ts = (clocks.tick_us == 1) as u8;
    sk.srtt_us = 8 * 40_000;
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    let mut seen = Vec::new();
    for step in 0..600_u64 {
        let silence = if step >= 500 { 3_600_000_000 } else { 0 };
        at(control, &mut sk, 1_000_000 + 3_000 * step + silence);
        match step {
            200 => lose(control, &mut sk, ca_state::RECOVERY),
            400 => lose(control, &mut sk, ca_state::LOSS),
            210 | 410 => super::change_state(control, &mut sk, ca_state::OPEN),
            _ => {}
        }
        stamp(&mut sk, clocks, DELAYS[step as usize / 10 % DELAYS.len()]);
        sk.max_packets_out = sk.snd_cwnd;
        ack(control, &mut sk, 1 + step as u32 % 2, 40_000);
        seen.push((sk.snd_cwnd, sk.snd_ssthresh));
    }
    seen
}

fn stamp(sk: &mut TcpSock, clocks: Clocks, delay_ms: u32) {
    let ticks = |us: u64| (us / u64::from(clocks.tick_us)) as u32;
    sk.rx_opt.saw_tstamp = 1;
    sk.rx_opt.rcv_tsecr = clocks.ours.wrapping_add(ticks(sk.tcp_mstamp));
    let arrival = sk.rx_opt.rcv_tsecr.wrapping_add(ticks(1000 * u64::from(delay_ms)));
    sk.rx_opt.rcv_tsval = arrival.wrapping_add(clocks.ahead);
}

/// Checks that clocks of either kind give the same windows, because delays are in microseconds.
pub fn same_by_clocks_of_either_kind(control: &Control) {
    let of = |tick_us| windows(control, Clocks { ours: 0, ahead: 0, tick_us });
    assert_eq!(of(1), of(1000));
}

/// Checks that an offset between the clocks and the wrap of either change nothing.
pub fn same_whatever_the_clocks_show(control: &Control) {
    for tick_us in [1, 1000] {
        let expected = windows(control, Clocks { ours: 0, ahead: 0, tick_us });
        let changes = expected.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
        assert!(changes > 20, "the window hardly moved: {expected:?}");
        for ours in [0, 0x7fff_f000, 0xffff_fc01, 0xfff0_0001] {
            for ahead in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff_ffec] {
                let clocks = Clocks { ours, ahead, tick_us };
                assert_eq!(windows(control, clocks), expected, "{clocks:?}");
            }
        }
    }
}
