//! Classifiers of a host's packets, the compiled ones driven by hand.

use crate::harness::{UserFiles, library};
use model::units::Nanos;
use model::{MechanismRef, MechanismSource, ParamValue};
use unbloat_mechanism::{Classifier, ClassifyFlow, ClassifyPacket, Error, MechanismKind, PacketKind};

fn load(source: MechanismSource, params: &[(&str, ParamValue)]) -> Result<Classifier, Error> {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    library().load_classifier(&MechanismRef::new(source, params), 1)
}

fn builtin(name: &str, params: &[(&str, ParamValue)]) -> Classifier {
    load(MechanismSource::Builtin(name.into()), params).unwrap_or_else(|error| panic!("{error}"))
}

/// A packet of a connection whose send buffer of 100 000 bytes holds `wmem_queued`, half of it unsent.
fn data(wmem_queued: u32) -> ClassifyPacket {
    let (held, unsent) = (wmem_queued, wmem_queued / 2);
    ClassifyPacket { kind: PacketKind::TcpData, wmem_queued, sndbuf: 100_000, held, unsent, ..Default::default() }
}

/// The bands of packets of one connection, one after the other.
fn bands(classifier: &Classifier, packets: &[ClassifyPacket]) -> Vec<u32> {
    let mut flow = ClassifyFlow::default();
    let band = |packet| classifier.band(Nanos::ZERO, &mut flow, packet).expect("it is not dropped");
    packets.iter().map(band).collect()
}

#[test]
fn sorpc_sends_last_what_fills_half_of_its_buffer() {
    let sorpc = builtin("sorpc", &[]);
    assert_eq!(bands(&sorpc, &[data(0), data(49_999), data(50_000), data(100_000)]), [0, 0, 1, 1]);
}

#[test]
fn sorpc_sends_all_but_data_first() {
    let sorpc = builtin("sorpc", &[]);
    let full = |kind| ClassifyPacket { kind, ..data(100_000) };
    let others = [PacketKind::TcpControl, PacketKind::Udp, PacketKind::Other];
    assert_eq!(bands(&sorpc, &others.map(full)), [0; 3]);
    assert_eq!(bands(&sorpc, &[ClassifyPacket { sndbuf: 0, ..data(0) }]), [1], "data that is forwarded");
}

/// A connection goes first again when none of its packets waits; the text's own rule lets it overtake.
#[test]
fn sorpc_does_not_let_a_connection_overtake_itself() {
    let waiting = |packet, in_host| ClassifyPacket { in_host, ..packet };
    let packets = [data(60_000), waiting(data(40_000), 3000), waiting(data(40_000), 0), waiting(data(40_000), 3000)];
    assert_eq!(bands(&builtin("sorpc", &[]), &packets), [1, 1, 0, 0]);
    let literal = builtin("sorpc", &[("no_overtake", ParamValue::Bool(false))]);
    assert_eq!(bands(&literal, &packets), [1, 0, 0, 0]);
}

#[test]
fn sorpc_can_count_what_is_unsent_and_has_a_threshold() {
    let unsent = builtin("sorpc", &[("unsent_only", ParamValue::Bool(true))]);
    assert_eq!(bands(&unsent, &[data(99_998), data(100_000)]), [0, 1], "half of it is unsent");
    let late = builtin("sorpc", &[("sor_threshold", ParamValue::Text("90%".into()))]);
    assert_eq!(bands(&late, &[data(89_000), data(91_000)]), [0, 1]);
}

/// Only packets that go last and have a socket here are dropped.
#[test]
fn sorpc_fair_drops_what_an_upload_has_too_much_of_in_the_host() {
    let fair = builtin("sorpc_fair", &[("max_waiting", ParamValue::Text("10kb".into()))]);
    let answer =
        |packet, in_host| fair.band(Nanos::ZERO, &mut ClassifyFlow::default(), &ClassifyPacket { in_host, ..packet });
    assert_eq!([9_999, 10_000].map(|in_host| answer(data(60_000), in_host)), [Some(1), None]);
    assert_eq!(answer(data(40_000), 10_000), Some(0), "it goes first");
    assert_eq!(answer(ClassifyPacket { sndbuf: 0, ..data(60_000) }, 10_000), Some(1), "it is forwarded");
}

/// The bands of `pfifo_fast` by RFC 1349's types of service: low delay first, throughput alone last.
#[test]
fn pfifo_fast_goes_by_the_type_of_service() {
    let pfifo_fast = builtin("pfifo_fast", &[]);
    let with = |tos| ClassifyPacket { tos, ..data(100_000) };
    assert_eq!(bands(&pfifo_fast, &[0x10, 0, 0x04, 0x18, 0x08].map(with)), [0, 1, 1, 1, 2]);
    assert_eq!(bands(&builtin("single", &[]), &[0x10, 0x08].map(with)), [0, 0]);
}

#[test]
fn classifiers_describe_themselves() {
    let list = library().list_of(MechanismKind::Classifier).expect("a list");
    let names: Vec<_> = list.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["pfifo_fast", "single", "sorpc", "sorpc_fair"]);
    assert!(list.iter().all(|one| !one.summary.is_empty()));
}

#[test]
fn what_is_no_classifier_gets_a_sentence() {
    let error = load(MechanismSource::Builtin("sorbc".into()), &[]).err().expect("there is none").to_string();
    assert_eq!(
        error,
        "unknown classifier \"sorbc\" (did you mean sorpc?); valid: pfifo_fast, single, sorpc, sorpc_fair, or the \
            path of a .bpf.c file"
    );
    let files = UserFiles::new("classifier");
    let path = files.write("none.bpf.c", "#include \"vmlinux.h\"\nchar _license[] SEC(\"license\") = \"GPL\";\n");
    let error = load(MechanismSource::File(path), &[]).err().expect("it is none").to_string();
    assert!(error.ends_with("is not a classifier: it lacks CLASSIFIER(...) (include/classify.h)"), "{error}");
}
