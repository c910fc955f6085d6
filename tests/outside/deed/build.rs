//! The README of `deed`; its other examples share a setting of their own.

fn main() {
    examples::gather_readme("../../../crates/deed");
}
