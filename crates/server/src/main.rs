//! The binary `chancery`.
fn main() {}
