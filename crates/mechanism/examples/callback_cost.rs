//! Measures the costs of an instance: loading it from the cache, and its callbacks for one ACK.
//!
//! `cargo run --release -p unbloat-mechanism --example callback_cost`

use model::units::Nanos;
use model::{MechanismRef, MechanismSource};
use std::path::Path;
use std::time::Instant;
use unbloat_mechanism::sock::{AckSample, TcpSock};
use unbloat_mechanism::{Control, Library};

const LOADS: u32 = 100;
const ACKS: u32 = 5_000_000;

fn main() -> Result<(), unbloat_mechanism::Error> {
    let library = Library::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms"));
    for name in library.names() {
        let control = MechanismRef::new(MechanismSource::Builtin(name.clone()), Default::default());
        let loaded = library.load(&control, 1)?;
        let start = Instant::now();
        for _ in 0..LOADS {
            library.load(&control, 1)?;
        }
        let load_us = start.elapsed().as_secs_f64() * 1e6 / f64::from(LOADS);
        println!("{name:12} {load_us:6.0} us to load, {:5.1} ns an ACK", nanoseconds_an_ack(&loaded));
    }
    Ok(())
}

/// Time of an ACK in congestion avoidance, ns: clock, `pkts_acked` and `cong_avoid`.
fn nanoseconds_an_ack(control: &Control) -> f64 {
    let mut sk = TcpSock { snd_cwnd: 100, snd_ssthresh: 50, is_cwnd_limited: 1, mss_cache: 1448, ..TcpSock::default() };
    control.set_now(Nanos::from_secs(1));
    control.init(&mut sk);
    let start = Instant::now();
    for ack in 0..ACKS {
        sk.tcp_mstamp = 1_000_000 + u64::from(ack);
        sk.snd_una = sk.snd_una.wrapping_add(sk.mss_cache);
        sk.snd_nxt = sk.snd_una.wrapping_add(100 * sk.mss_cache);
        control.set_now(Nanos::from_micros(sk.tcp_mstamp));
        control.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: 20_000 + (ack & 1023) as i32, in_flight: 0 });
        let una = sk.snd_una;
        control.cong_avoid(&mut sk, una, 1);
        sk.snd_cwnd = sk.snd_cwnd.min(1000);
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(ACKS)
}
