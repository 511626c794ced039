//! Prints the table of keys that stands in `scenarios/README.md`.

fn main() {
    print!("{}", scenario::register::describe());
}
