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

/// How much is decided.
struct Size {
    /// How many rules the policies have.
    rules: &'static [usize],
    /// How many the largest has, which is read, linted and replayed.
    largest: usize,
    /// How many decisions are replayed.
    records: usize,
}

const FULL: Size = Size { rules: &[1, 20, 200, 2_000], largest: 2_000, records: 10_000 };
/// What shows in a few seconds that every engine decides; its figures say nothing.
const SMOKE: Size = Size { rules: &[20], largest: 20, records: 100 };

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
    let is_smoke = std::env::args().any(|argument| argument == "--smoke");
    let size = if is_smoke { SMOKE } else { FULL };
    for kind in [Kind::Mixed, Kind::Dense, Kind::Hostile] {
        table::head(kind, size.rules);
        for (name, read) in ENGINES {
            let costs: Vec<Option<Cost>> =
                size.rules.iter().map(|rules| engine_cost(read, kind, *rules)).collect();
            table::row(name, &costs);
        }
    }
    ours::print_the_rest(&size);
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
