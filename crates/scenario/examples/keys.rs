//! Prints every key of the experiment file as a Markdown table: the end of `scenarios/README.md`.

fn main() {
    print!("{}", scenario::register::describe());
}
