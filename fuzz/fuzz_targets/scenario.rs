//! Reads any text as a scenario file: the reader accepts it, or refuses it with a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|text: &str| {
    if let Err(error) = scenario::load_text(text, "fuzz.toml", Path::new("/nowhere"), &[]) {
        assert!(!error.to_string().is_empty());
    }
});
