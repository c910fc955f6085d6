//! Everything that `chancery` shows.

fn main() {
    examples::gather("../../../crates/chancery");
}
