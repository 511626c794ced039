use super::*;

/// Checks the default and range of a key that is read as a `T`; none for other keys.
fn check<T: Readable>(key: &Key) -> Option<Result<(), String>> {
    let parsed = |text: &str| T::from_text(text).map_err(|why| format!("{}: \"{text}\": {why}", key.path()));
    let check = || {
        if let Some((least, most)) = key.bounds() {
            let (least, most) = (parsed(least)?, parsed(most)?);
            (least < most).then_some(()).ok_or_else(|| format!("{}: nothing lies in {}", key.path(), key.range))?;
        }
        let Absence::Default(text) = key.absence else { return Ok(()) };
        within(key, parsed(text)?, &Value::Text(text.into())).map_err(|why| format!("{}: {why}", key.path()))?;
        match key.kind {
            KeyType::Choice(_) | KeyType::Profile | KeyType::App => {
                T::from_value(&Value::Text(text.into()), key.kind).map(drop)
            }
            _ => Ok(()),
        }
    };
    T::reads(key.kind).then(check)
}

/// Runs the checks of every type of values on a key.
fn check_as_every_type(key: &Key) -> Vec<Result<(), String>> {
    let checks = [
        check::<Rate>,
        check::<Nanos>,
        check::<Start>,
        check::<Between<Rate>>,
        check::<Between<u64>>,
        check::<Offset>,
        check::<Drift>,
        check::<Dbm>,
        check::<Bytes>,
        check::<Limit>,
        check::<Share>,
        check::<Frequency>,
        check::<Decibels>,
        check::<Number>,
        check::<u64>,
        check::<bool>,
        check::<String>,
        check::<Names>,
    ];
    checks.iter().filter_map(|check| check(key)).collect()
}

#[test]
fn the_schema_s_defaults_and_ranges_are_valid() {
    for key in schema::all() {
        let outcomes = check_as_every_type(key);
        if matches!(key.kind, KeyType::Table | KeyType::Tables) {
            assert!(outcomes.is_empty() && key.range.is_empty() && !matches!(key.absence, Absence::Default(_)));
            continue;
        }
        assert_eq!(outcomes, [Ok(())], "{}", key.path());
    }
}

#[test]
fn an_invalid_default_or_range_is_found() {
    let key = *schema::all().find(|key| key.path() == "warmup").expect("it is a key");
    for (absence, range) in [
        (Absence::Default("10"), "0s..1s"),
        (Absence::Default("2s"), "0s..1s"),
        (Absence::Default("1s"), "0..1s"),
        (Absence::Default("1s"), "1s..0s"),
        (Absence::Means("none"), "0s..2mbit"),
    ] {
        let outcomes = check_as_every_type(&Key { absence, range, ..key });
        assert!(matches!(&outcomes[..], [Err(_)]), "{absence:?} {range}: {outcomes:?}");
    }
    let choice = *schema::all().find(|key| key.path() == "emulator").expect("it is a key");
    let outcomes = check_as_every_type(&Key { absence: Absence::Default("ns3"), ..choice });
    assert!(matches!(&outcomes[..], [Err(_)]), "{outcomes:?}");
}
