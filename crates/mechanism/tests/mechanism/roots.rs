//! The integer roots of `include/roots.h` against their definition. The cube root's uses are in `numbers.rs`.

use crate::harness::compile_text;
use libloading::os::unix::Library;

const EXPORTS: &str = "#include \"roots.h\"\n\
    __u32 roots_square(__u64 a) { return square_root(a); }\n\
    __u32 roots_cube(__u64 a) { return cube_root(a); }\n";

fn root(library: &Library, name: &str, a: u64) -> u128 {
    // SAFETY: EXPORTS declares it so.
    let root = unsafe { library.get::<unsafe extern "C" fn(u64) -> u32>(name.as_bytes()).expect(name)(a) };
    u128::from(root)
}

/// Small numbers, the neighbours of every power of two and of squares and cubes of all sizes, and the largest.
fn numbers() -> Vec<u64> {
    let squares = (0..32).map(|bit| ((1_u64 << bit) + 0x5555_5555 % (1 << bit)).pow(2));
    let cubes = (0..21).map(|bit| ((1_u64 << bit) + 0x5555_5555 % (1 << bit)).pow(3));
    let around = (0..64).map(|bit| 1 << bit).chain(squares).chain(cubes).chain([u64::MAX - 1, (1 << 40) / 3]);
    let neighbours = around.flat_map(|a| [a.saturating_sub(1), a, a + 1]);
    (1..5000).chain(neighbours).filter(|a| *a > 0).collect()
}

#[test]
fn each_is_the_largest_whose_power_is_not_above() {
    let library = compile_text("roots", EXPORTS);
    for a in numbers() {
        for (name, power) in [("roots_square", 2), ("roots_cube", 3)] {
            let x = root(&library, name, a);
            assert!(x.pow(power) <= u128::from(a) && u128::from(a) < (x + 1).pow(power), "{name}({a}) = {x}");
        }
    }
}
