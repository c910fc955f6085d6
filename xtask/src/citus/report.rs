//! What two databases answered, compared with each other.

use super::cluster::SHARDS;
use super::log::shortened;
use super::record::Sample;
use super::replay::{Answer, Plan};

/// The samples, and what each database made of them, in the same order.
#[derive(Debug)]
pub(super) struct Compared<'a> {
    pub(super) samples: &'a [Sample],
    pub(super) plain: Vec<Answer>,
    pub(super) citus: Vec<Answer>,
}

/// Where Citus sends a statement, from what is known least to what costs most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// Its plan is not shown.
    Unknown,
    /// To no shard: it needs none.
    Nowhere,
    /// To one.
    One,
    /// From the coordinator, which has its rows, to the shard of each.
    Pulled,
    /// To several, one after the other or at once.
    Several,
}

impl Reach {
    fn of(answer: &Answer) -> Self {
        match answer.plan {
            None => Self::Unknown,
            Some(Plan { tasks: 2.., .. }) => Self::Several,
            Some(Plan { is_pulled: true, .. }) => Self::Pulled,
            Some(Plan { tasks: 1, .. }) => Self::One,
            Some(Plan { tasks: 0, .. }) => Self::Nowhere,
        }
    }
}

/// Whether a row is of a kind.
type Kind = fn(&Row<'_>) -> bool;

/// A sample and both answers to it.
#[derive(Debug, Clone, Copy)]
struct Row<'a> {
    number: usize,
    sample: &'a Sample,
    plain: &'a Answer,
    citus: &'a Answer,
}

impl Row<'_> {
    fn is_alike(&self) -> bool {
        self.plain.outcome.state == self.citus.outcome.state
    }

    /// Whether both refuse it in one way, so that it says less of what Citus takes.
    fn is_refused(&self) -> bool {
        self.is_alike() && !self.plain.outcome.is_done()
    }

    fn reach(&self) -> Reach {
        Reach::of(self.citus)
    }
}

impl Compared<'_> {
    /// How many there are of each kind. A statement counts as answered alike, or as refused,
    /// when all of its samples are, and goes where the sample does that costs most.
    pub(super) fn table(&self) -> String {
        let rows = self.rows();
        let statements = of_one_text(&rows);
        let line = |name: &str, statements: usize, samples: usize| {
            format!("| {name:14} | {statements:10} | {samples:7} |")
        };
        let mut lines = vec![
            format!("| {:14} | statements | samples |", ""),
            format!("|-{:-<14}-|-----------:|--------:|", ""),
            line("sent", statements.len(), rows.len()),
        ];
        let kinds: [(&str, Kind); 2] =
            [("same answer", |row| row.is_alike()), ("both refuse", |row| row.is_refused())];
        for (name, is_so) in kinds {
            let whole = statements.iter().filter(|rows| rows.iter().all(is_so));
            lines.push(line(name, whole.count(), rows.iter().filter(|row| is_so(row)).count()));
        }
        let reaches = [
            ("one task", Reach::One),
            ("by coordinator", Reach::Pulled),
            ("several tasks", Reach::Several),
            ("no task", Reach::Nowhere),
            ("no plan shown", Reach::Unknown),
        ];
        for (name, reach) in reaches {
            let most = |rows: &&&[Row<'_>]| rows.iter().map(Row::reach).max() == Some(reach);
            let samples = rows.iter().filter(|row| row.reach() == reach);
            lines.push(line(name, statements.iter().filter(most).count(), samples.count()));
        }
        lines.join("\n")
    }

    /// A line for each statement that goes further than to one shard, behind lines that say so.
    pub(super) fn far(&self) -> Vec<String> {
        let rows = self.rows();
        let furthest = of_one_text(&rows).into_iter().filter_map(|rows| {
            rows.iter().max_by_key(|row| (row.reach(), row.citus.plan.map(|plan| plan.tasks)))
        });
        let furthest: Vec<_> = furthest.collect();
        let several = format!("of several tasks ({SHARDS} are every shard):");
        let pulled = "by the coordinator, which sends each row to its shard:".to_owned();
        let mut lines = Vec::new();
        for (head, reach) in [(several, Reach::Several), (pulled, Reach::Pulled)] {
            let found: Vec<_> = furthest.iter().filter(|row| row.reach() == reach).collect();
            lines.extend((!found.is_empty()).then_some(head));
            lines.extend(found.into_iter().map(|row| {
                let tasks = row.citus.plan.map_or(0, |plan| plan.tasks);
                format!("{tasks:4}  {}", shortened(&row.sample.sql))
            }));
        }
        lines
    }

    /// What differs, once for each statement.
    pub(super) fn failures(&self) -> Vec<String> {
        let rows = self.rows();
        let statements = of_one_text(&rows);
        let differing = statements.iter().filter_map(|rows| {
            let row = rows.iter().find(|row| !row.is_alike())?;
            let (plain, citus) = (&row.plain.outcome, &row.citus.outcome);
            // Of the two, the one that refuses has something to say.
            let said = if citus.message.is_empty() { &plain.message } else { &citus.message };
            Some(format!(
                "plain {}, Citus {}: {said}\nsample {}: {}",
                plain.state,
                citus.state,
                row.number,
                shortened(&row.sample.sql)
            ))
        });
        differing.collect()
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let answers = self.plain.iter().zip(&self.citus);
        let rows = self.samples.iter().zip(answers).enumerate();
        rows.map(|(number, (sample, (plain, citus)))| Row { number, sample, plain, citus })
            .collect()
    }
}

/// The rows of each text, which lie together.
fn of_one_text<'a, 'b>(rows: &'b [Row<'a>]) -> Vec<&'b [Row<'a>]> {
    rows.chunk_by(|one, next| one.sample.sql == next.sample.sql).collect()
}
