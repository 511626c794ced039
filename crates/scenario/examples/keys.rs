//! Prints the table of every key that closes scenarios/README.md.

fn main() {
    print!("{}", scenario::register::describe());
}
