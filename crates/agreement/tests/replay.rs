//! Checks that a replay finds exactly the differences that exist. The test `equality` uses a real kernel.

// The harness belongs to the tests of that crate, which use this name.
extern crate mechanism as unbloat_mechanism;

#[path = "../../mechanism/tests/mechanism/harness/mod.rs"]
#[allow(dead_code, reason = "the tests of mechanisms use the rest")]
mod harness;

use harness::{builtin, library, socket};
use mechanism::sock::{AckSample, HZ, INFINITE_SSTHRESH, RateSample, TcpSock, ca_state, is_ssthresh};
use mechanism::{Callback, HelperResults};
use model::units::Nanos;
use model::{MechanismRef, MechanismSource};
use std::mem::offset_of;
use unbloat_agreement::replay::{Difference, RecordedCall, Recording, Replay, SockMember};

const MILLISECOND: u64 = 1_000_000;

fn members() -> Vec<SockMember> {
    let inet_conn = offset_of!(TcpSock, inet_conn) + offset_of!(mechanism::sock::InetConnectionSock, icsk_ca_priv);
    let private = (0..13).map(|i| ("inet_conn.icsk_ca_priv", inet_conn + 8 * i, 8));
    let own = [("snd_cwnd", offset_of!(TcpSock, snd_cwnd), 4), ("snd_ssthresh", offset_of!(TcpSock, snd_ssthresh), 4)];
    let all = private.chain(own);
    all.map(|(path, offset, size)| SockMember::new(path, offset, size).expect("a member")).collect()
}

/// Makes a recording of CUBIC with the simulator's build: the start, growth, a loss, growth along the curve.
fn recording() -> Recording {
    let control = builtin("cubic");
    let mut sk = socket(20, 10);
    sk.inet_conn.sk.sk_family = 2;
    let mut events = Vec::new();
    let mut call = |program: &str, ms: u64, arguments: [u64; 2], act: &dyn Fn(&mut TcpSock) -> u64| {
        sk.tcp_mstamp = 1000 * ms;
        control.set_now(Nanos(ms * MILLISECOND));
        let before = sk.clone();
        let result = act(&mut sk);
        events.push(RecordedCall {
            socket: 1,
            program: program.into(),
            helper_results: HelperResults { ns: ms * MILLISECOND, jiffies: ms * HZ / 1000, random: 0 },
            arguments: [arguments[0], arguments[1], 0],
            ack_sample: AckSample { pkts_acked: 2, rtt_us: 20_000, in_flight: 0 },
            rate_sample: RateSample::default(),
            before,
            after: sk.clone(),
            result,
            follows_gap: false,
        });
    };
    let nothing = |act: &dyn Fn(&mut TcpSock), sk: &mut TcpSock| {
        act(sk);
        0
    };
    call("init", 1, [0, 0], &|sk| nothing(&|sk| control.init(sk), sk));
    for round in 1..200 {
        if round == 50 {
            call("ssthresh", 5 * round, [0, 0], &|sk| control.ssthresh(sk).into());
            let recovery = ca_state::RECOVERY;
            call("set_state", 5 * round, [recovery.into(), 0], &|sk| {
                nothing(&|sk| control.set_state(sk, recovery), sk)
            });
        }
        let sample = AckSample { pkts_acked: 2, rtt_us: 20_000, in_flight: 0 };
        call("pkts_acked", 5 * round, [0, 0], &|sk| nothing(&|sk| control.pkts_acked(sk, &sample), sk));
        call("cong_avoid", 5 * round, [0, 2], &|sk| nothing(&|sk| control.cong_avoid(sk, 0, 2), sk));
    }
    Recording { jiffies_per_second: HZ, members: members(), events }
}

fn replay(recording: &Recording) -> Result<(), Difference> {
    let control = MechanismRef::new(MechanismSource::Builtin("cubic".into()), Default::default());
    let mut replay = Replay::open(library().folder(), &control, recording.jiffies_per_second).expect("cubic builds");
    assert_eq!(replay.callback("cong_avoid"), Some(Callback::CongAvoid));
    assert_eq!(replay.callback("cubic_update"), None);
    replay.play(recording)
}

#[test]
fn the_build_for_replays_is_the_simulators() {
    assert_eq!(replay(&recording()), Ok(()));
}

/// After a gap the replay takes the congestion control's private state from the kernel, because it cannot know the
/// missing calls.
#[test]
fn a_recording_with_a_gap() {
    let mut recording = recording();
    recording.events.drain(120..160);
    assert!(replay(&recording).is_err());
    recording.events[120].follows_gap = true;
    assert_eq!(replay(&recording), Ok(()));
}

/// A kernel that skipped `ssthresh` leaves half of an address as its result.
#[test]
fn a_recording_ends_where_the_kernel_skipped_a_call() {
    assert!([2, INFINITE_SSTHRESH, u32::MAX].into_iter().all(is_ssthresh));
    let mut recording = recording();
    let loss = recording.events.iter().position(|event| event.program == "ssthresh").expect("a loss");
    recording.events.remove(loss);
    recording.events[loss].before.snd_ssthresh = 0x8220_34e5;
    recording.end_at_skipped_call();
    assert_eq!(recording.events.len(), loss);
    assert_eq!(replay(&recording), Ok(()));
}

/// Bytes between members are padding, and bytes behind the socket do not belong to it.
#[test]
fn only_what_is_a_member_can_be_compared() {
    let window = offset_of!(TcpSock, snd_cwnd);
    let gap = offset_of!(TcpSock, advmss) + 2;
    assert!(gap < offset_of!(TcpSock, mss_cache), "padding");
    assert!(SockMember::new("snd_cwnd", window, 4).is_some());
    for (offset, size) in [(gap, 2), (window, 8), (window + 1, 2), (size_of::<TcpSock>(), 4), (usize::MAX, 4)] {
        assert_eq!(SockMember::new("snd_cwnd", offset, size), None, "{size} bytes at {offset}");
    }
}

#[test]
fn another_clock_shows() {
    let mut recording = recording();
    recording.jiffies_per_second = 4 * HZ;
    assert!(replay(&recording).is_err());
}

/// Changes one number of one event in the recording, and returns the difference that the replay finds.
fn disturbed(number: usize, disturb: impl Fn(&mut RecordedCall)) -> Difference {
    let mut recording = recording();
    disturb(&mut recording.events[number]);
    replay(&recording).expect_err("the recording was disturbed")
}

#[test]
fn every_kind_of_difference_is_found_where_it_is() {
    let window = disturbed(150, |event| event.after.snd_cwnd += 1);
    assert_eq!(
        (window.event, window.member.as_str(), window.kernel),
        (150, "snd_cwnd", u64::from(window.native as u32 + 1))
    );
    let threshold = disturbed(20, |event| event.after.snd_ssthresh -= 1);
    assert_eq!((threshold.event, threshold.member.as_str()), (20, "snd_ssthresh"));
    let private = disturbed(33, |event| event.after.inet_conn.icsk_ca_priv[2] ^= 1);
    assert_eq!((private.event, private.member.as_str()), (33, "inet_conn.icsk_ca_priv"));
    let loss = recording().events.iter().position(|event| event.program == "ssthresh").expect("a loss");
    let result = disturbed(loss, |event| event.result += 1);
    assert_eq!((result.event, result.member.as_str()), (loss, "the result"));
    let text = result.to_string();
    assert!(text.contains("call of ssthresh: the result is"), "{text}");
}

/// A replay uses the native build's private state, not the recorded one, so that an error in it shows later.
#[test]
fn private_state_is_not_taken_from_the_recording() {
    let mut recording = recording();
    for event in &mut recording.events[1..] {
        event.before.inet_conn.icsk_ca_priv = [u64::MAX; 13];
    }
    assert_eq!(replay(&recording), Ok(()));
}
