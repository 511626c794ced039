//! BPF maps that the scenario fills.

use crate::harness::{library, socket, source};
use model::{MapContents, MechanismRef, MechanismSource};
use unbloat_mechanism::{About, Control, Error};

type Contents<'a> = &'a [(&'a str, &'a [(&'a str, &'a [i128])])];

fn filled(maps: Contents) -> MechanismRef {
    let contents = |entries: &[(&str, &[i128])]| -> MapContents {
        entries.iter().map(|(key, numbers)| (key.to_string(), numbers.to_vec())).collect()
    };
    let control = MechanismRef::new(MechanismSource::File(source("filled_maps.bpf.c")), Default::default());
    MechanismRef { maps: maps.iter().map(|(map, entries)| (map.to_string(), contents(entries))).collect(), ..control }
}

fn load(maps: Contents) -> Result<Control, Error> {
    library().load(&filled(maps), 1)
}

const ROUTE: &str = "80, 0x7f000001";

#[test]
fn arrays_and_hash_maps_begin_as_told() {
    let control = load(&[("rates", &[("1", &[40])]), ("limits", &[(ROUTE, &[1, -3, 7, 20])])]).expect("they fit");
    let another = load(&[("rates", &[("0", &[40]), ("2", &[50])])]).expect("they fit");
    let windows = [&control, &another].map(|control| {
        let mut sk = socket(10, 5);
        control.init(&mut sk);
        (sk.snd_cwnd, control.ssthresh(&mut sk))
    });
    assert_eq!(windows, [(40, 17), (10, 2)], "each instance has its own");
}

#[test]
fn an_object_for_the_kernel_says_the_same_bytes() {
    let contents: Contents = &[("rates", &[("1", &[u64::MAX as i128])]), ("limits", &[(ROUTE, &[1, -3, 7, 20])])];
    let object = library().kernel_object(&filled(contents), None).expect("they fit");
    let bytes: Vec<_> =
        object.maps.iter().map(|entry| (entry.map.as_str(), &entry.key[..], &entry.value[..])).collect();
    let limit = [1, 0, 0xfd, 0xff, 7, 0, 0, 0, 20, 0, 0, 0];
    let route = [80, 0, 0, 0, 1, 0, 0, 0x7f];
    assert_eq!(bytes, [("limits", &route[..], &limit[..]), ("rates", &[1, 0, 0, 0], &[255; 8])]);
}

#[test]
fn what_does_not_fit_is_refused_with_map_and_key() {
    let cases: &[(Contents, &str, &str)] = &[
        (
            &[("rate", &[("0", &[1])])],
            "rate",
            "has no map rate (did you mean rates?); valid: events, limits, marks, rates, scratch",
        ),
        (&[("rates", &[("3", &[1])])], "rates.3", "cannot be set up: map rates has the keys 0 to 2, not 3"),
        (
            &[("rates", &[("first", &[1])])],
            "rates.first",
            "cannot be set up: map rates needs whole numbers as keys, such as 0 or 0x10, with commas between \
                several, not \"first\"",
        ),
        (
            &[("rates", &[("0", &[-1])])],
            "rates.0",
            "cannot be set up: map rates has values from 0 to 18446744073709551615, not -1",
        ),
        (
            &[("rates", &[("0", &[1, 2])])],
            "rates.0",
            "cannot be set up: map rates has values of one number of 8 bytes, not of 2",
        ),
        (
            &[("rates", &[("1", &[1]), ("0x1", &[1])])],
            "rates.1",
            "cannot be set up: map rates has the key 1 twice, written differently",
        ),
        (
            &[("limits", &[(ROUTE, &[1, 2])])],
            "limits.80, 0x7f000001",
            "cannot be set up: map limits has values of 4 numbers, one for each member, not of 2",
        ),
        (
            &[("limits", &[(ROUTE, &[1, 32768, 7, 20])])],
            "limits.80, 0x7f000001",
            "cannot be set up: map limits has values from -32768 to 32767, not 32768",
        ),
        (
            &[("limits", &[("80", &[1, 2, 7, 20])])],
            "limits.80",
            "cannot be set up: map limits has keys of 2 numbers, one for each member, not of 1",
        ),
        (
            &[("limits", &[("1,1", &[1, 2, 7, 20]), ("2,1", &[1, 2, 7, 20]), ("3,1", &[1, 2, 7, 20])])],
            "limits",
            "cannot be set up: map limits has room for 2 entries, not for 3",
        ),
        (
            &[("marks", &[("0", &[1])])],
            "marks.0",
            "cannot be set up: map marks has values of 8 bytes that contain a pointer, a union or a bit field, not \
                only whole numbers",
        ),
        (
            &[("scratch", &[("0", &[1])])],
            "scratch",
            "cannot be set up: map scratch is an array for each processor; contents can be set for arrays and hash \
             maps",
        ),
        (
            &[("events", &[("0", &[1])])],
            "events",
            "cannot be set up: map events is a ring buffer; contents can be set for arrays and hash maps",
        ),
    ];
    for (maps, place, sentence) in cases {
        let errors = [load(maps).err(), library().kernel_object(&filled(maps), None).err()];
        for error in errors {
            let error = error.unwrap_or_else(|| panic!("{maps:?} fits"));
            let path = source("filled_maps.bpf.c");
            assert_eq!(error.message, format!("{} {sentence}", path.display()), "{maps:?}");
            assert_eq!((error.about, error.is_input), (Some(About::Map(place.to_string())), true));
        }
    }
}

#[test]
fn a_control_without_maps_has_none_to_fill() {
    let maps = [("rates".to_string(), MapContents::new())].into();
    let reno = MechanismRef { maps, ..MechanismRef::new(MechanismSource::Builtin("reno".into()), Default::default()) };
    let error = library().load(&reno, 1).map(|_| ()).expect_err("no maps");
    assert_eq!(error.message, "reno has no maps, so no map rates");
}
