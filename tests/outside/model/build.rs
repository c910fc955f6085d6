//! Everything that `model` shows.

fn main() {
    examples::gather("../../../crates/model");
}
