//! Everything that `policy` shows.

fn main() {
    examples::gather("../../../crates/policy");
}
