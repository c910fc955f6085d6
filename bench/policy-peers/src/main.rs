//! Measures the policy engine beside its peers, in one run: `cargo xtask bench policy`. What it
//! prints is what docs/performance.md shows.

mod cedar;
mod cel;
mod measure;
mod ours;
mod rego;
mod table;
mod workload;

use measure::{Cost, cost};
use workload::{Kind, Workload};

/// How many rules the policies have.
const SIZES: [usize; 4] = [1, 20, 200, 2_000];

/// One engine that has read a workload.
trait Engine {
    /// The number of the rule that decides.
    fn decide(&mut self) -> Option<usize>;
}

/// An engine's name and how it reads a workload.
type Entry = (&'static str, fn(&Workload) -> Box<dyn Engine>);

const ENGINES: [Entry; 9] = [
    ("chancery", ours::whole),
    ("cel 0.15, conversion left out", cel::evaluation),
    ("cel 0.15, whole", cel::whole),
    ("regorus 0.14 RVM, conversion left out", rego::compiled_evaluation),
    ("regorus 0.14 RVM, whole", rego::compiled),
    ("regorus 0.14 interpreter, whole", rego::interpreted),
    ("Cedar 4.14, evaluation only", cedar::evaluation),
    ("Cedar 4.14, whole", cedar::whole),
    ("regorus 0.14 interpreter, conversion left out", rego::interpreted_evaluation),
];

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let sizes = if quick { &SIZES[..2] } else { &SIZES[..] };
    for kind in [Kind::Mixed, Kind::Dense, Kind::Hostile] {
        table::head(kind, sizes);
        for (name, read) in ENGINES {
            let costs: Vec<Option<Cost>> =
                sizes.iter().map(|size| engine_cost(read, kind, *size)).collect();
            table::row(name, &costs);
        }
    }
    ours::print_the_rest();
}

/// What one decision costs, or nothing where the engine cannot read the workload.
fn engine_cost(
    read: fn(&Workload) -> Box<dyn Engine>,
    kind: Kind,
    size: usize,
) -> Option<Cost> {
    let workload = Workload::new(kind, size);
    let mut engine =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(&workload))).ok()?;
    // Only the last rule holds; an engine that says something else is not measured.
    assert_eq!(engine.decide(), Some(size - 1), "{kind:?} {size}");
    Some(cost(|| engine.decide()))
}
