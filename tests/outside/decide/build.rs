//! What `policy` shows first, built without its prover.

fn main() {
    examples::gather_readme("../../../crates/policy");
}
