//! The client against the far end, over the loopback device.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::time::Duration;
use unbloat_line::client::{Config, Error, Phase, Progress, RequestKind, ServerName, measure};
use unbloat_line::limits::Limits;
use unbloat_line::{Config as ServerConfig, Identity, Server};

fn far_end(limits: Limits) -> Server {
    Server::start(ServerConfig {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        limits,
        controls: vec!["reno".into()],
        identity: Identity::SelfSigned(vec!["localhost".into()]),
    })
    .unwrap()
}

fn config(port: u16, budget: u64) -> Config {
    Config {
        server: ServerName { host: "127.0.0.1".into(), port: Some(port) },
        budget,
        duration: Duration::from_secs(120),
        phases: Phase::ALL.to_vec(),
        far_cc: None,
    }
}

fn port_of(server: &Server) -> u16 {
    server.address().port()
}

fn go_on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_measurement_has_all_phases_and_stays_within_its_budget() {
    let server = far_end(Limits::WIDE);
    let measured = measure(&config(port_of(&server), 20_000_000), &mut go_on).unwrap();
    let bytes = measured.sent_bytes + measured.received_bytes;
    assert!((5_000_000..=20_000_000).contains(&bytes), "{bytes}");
    assert!(measured.is_complete);
    assert_eq!(measured.device.as_deref(), Some("lo"));
    let tables = measured.tables;
    assert_eq!(tables.phases.iter().map(|row| row.phase).collect::<Vec<_>>(), Phase::ALL);
    let answered = tables.probes.iter().filter(|probe| probe.rtt_ms.is_some_and(|rtt| rtt > 0.0)).count();
    assert!(answered > 0 && tables.probes.iter().all(|probe| probe.up_ms.is_none_or(|up| up > 0.0)));
    for phase in [Phase::Down, Phase::Up, Phase::Both] {
        for direction in phase.directions() {
            let of = |row: &&unbloat_line::client::TransferRow| row.phase == phase && row.direction == *direction;
            let most = tables.transfers.iter().filter(of).map(|row| row.bytes).max();
            assert!(most.is_some_and(|bytes| bytes > 100_000), "{phase:?} {direction:?}: {most:?}");
        }
    }
    let foreign = tables.requests.iter().find(|row| row.kind == RequestKind::Foreign).unwrap();
    assert!(foreign.tcp_ms.is_some() && foreign.tls_ms.is_some() && foreign.http_ms.is_some());
}

#[test]
fn a_far_end_sends_with_the_control_that_a_client_asks_for() {
    let server = far_end(Limits::WIDE);
    let with = |cc: &str| {
        let mut config = config(port_of(&server), 5_000_000);
        config.phases = vec![Phase::Down];
        config.far_cc = Some(cc.into());
        measure(&config, &mut go_on)
    };
    assert!(with("reno").unwrap().received_bytes > 1_000_000);
    let refused = with("bbr").err().unwrap().to_string();
    assert!(refused.ends_with("does not offer the congestion control bbr; it offers: reno"), "{refused}");
}

#[test]
fn who_breaks_gets_what_was_measured() {
    let server = far_end(Limits::WIDE);
    let mut seen = 0;
    let mut few = |_: Progress| {
        seen += 1;
        if seen < 20 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let measured = measure(&config(port_of(&server), 100_000_000), &mut few).unwrap();
    assert!(!measured.is_complete && !measured.tables.probes.is_empty());
    assert_eq!(measured.tables.phases.len(), 1);
}

#[test]
fn a_far_end_that_goes_away_leaves_what_was_measured() {
    let mut server = Some(far_end(Limits::WIDE));
    let config = config(port_of(server.as_ref().unwrap()), 1_000_000_000);
    let mut stop = |now: Progress| {
        // A runtime cannot end within another one's task.
        if now.phase == Phase::Down
            && let Some(server) = server.take()
        {
            std::thread::spawn(move || drop(server)).join().unwrap();
        }
        ControlFlow::Continue(())
    };
    let measured = measure(&config, &mut stop).unwrap();
    assert!(!measured.is_complete);
    assert!(measured.notes.iter().any(|note| note.contains("ended")), "{:?}", measured.notes);
}

#[test]
fn a_limit_of_the_far_end_ends_the_measurement() {
    let server = far_end(Limits { client_bytes: 2_000_000, ..Limits::WIDE });
    let measured = measure(&config(port_of(&server), 1_000_000_000), &mut go_on).unwrap();
    assert!(!measured.is_complete);
    assert!(measured.received_bytes < 3_000_000, "{}", measured.received_bytes);
}

/// Passes TCP connections on to a far end from an address where nothing answers UDP.
fn without_udp(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(to).unwrap();
            for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}

#[test]
fn a_firewall_that_blocks_probes_leaves_the_handshakes() {
    let server = far_end(Limits::WIDE);
    let between = without_udp(server.address());
    let mut config = config(between.port(), 10_000_000);
    config.server.host = between.ip().to_string();
    let measured = measure(&config, &mut go_on).unwrap();
    assert!(measured.tables.probes.is_empty());
    assert!(measured.tables.requests.iter().any(|row| row.tcp_ms.is_some()));
    assert!(measured.notes.iter().any(|note| note.contains("firewall")), "{:?}", measured.notes);
}

#[test]
fn servers_that_are_no_far_end_are_refused() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    assert!(matches!(measure(&config(port, 1 << 24), &mut go_on), Err(Error::NoConnection(..))));
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = plain.local_addr().unwrap().port();
    let portal = std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        let _ = stream.read(&mut [0; 1000]);
        stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: http://portal.example/\r\n\r\n").unwrap();
    });
    assert!(matches!(measure(&config(port, 1 << 24), &mut go_on), Err(Error::NoTls(..))));
    portal.join().unwrap();
    let mut unknown = config(443, 1 << 24);
    unknown.server.host = "no-such-host.invalid".into();
    assert!(matches!(measure(&unknown, &mut go_on), Err(Error::NoName(..))));
}
