//! What the far end of a measured line reads from anybody: probes over UDP, and requests for transfers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use line::echo::{self, LEAST_SIZE, MAGIC, MOST_SIZE};
use line::transfer::Request;

fuzz_target!(|bytes: &[u8]| {
    let is_probe = bytes.starts_with(&MAGIC) && (LEAST_SIZE..=MOST_SIZE).contains(&bytes.len());
    assert_eq!(echo::read(bytes).is_some(), is_probe);
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(request) = text.parse::<Request>()
    {
        assert_eq!(request.to_string().parse(), Ok(request));
    }
});
