//! What people are told of a run: the one badge that a verdict has, and its sentence.

use std::str::FromStr;

use minijinja::{Environment, Error, ErrorKind, Value, context};
use model::{Conclusion, Level};

use crate::rows::number_of;

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_function("conclusion", conclusion);
    templates.add_function("is_nothing", is_nothing);
}

/// The badge of what the witness concluded of a run, with a sentence and a short form of it; nothing
/// where nobody looked at the run, or where its failure says it all.
fn conclusion(witness: &Value, execution: &Value) -> Result<Value, Error> {
    if witness.is_none() || execution.is_none() {
        return Ok(Value::from(()));
    }
    let (verdict, level) = (read(witness, "verdict")?, read(witness, "level")?);
    let rows = execution.get_attr("rows_changed").ok().and_then(|rows| u64::try_from(rows).ok());
    let Some(end) = Conclusion::of(read(execution, "status")?, rows, (verdict, level)) else {
        return Ok(Value::from(()));
    };
    let (icon, look) = look(end);
    let sentence = sentence(end, level);
    let summary = witness.get_attr("summary")?;
    let short = match (end, rows) {
        (Conclusion::Reported, Some(rows)) => {
            format!("{} changed, by its own report.", number_of(rows))
        }
        (Conclusion::Verified, Some(rows)) => format!("{} changed. {summary}", number_of(rows)),
        (_, _) => sentence.map_or_else(|| summary.to_string(), str::to_owned),
    };
    // The failure and what is left of it are one sentence; what the witness says beside others adds to them.
    let adds = sentence.filter(|_| end != Conclusion::NotApplied).map(|_| summary);
    Ok(context! { icon, look, word => end.word(), sentence, short, adds })
}

/// The symbol and the look. What was reported alone is neutral, and so is what left nothing behind.
fn look(end: Conclusion) -> (&'static str, &'static str) {
    match end {
        Conclusion::Reported => ("send", "line"),
        Conclusion::ChangedNothing | Conclusion::NotApplied => ("minus", "line"),
        Conclusion::Verified => ("check", "ok"),
        Conclusion::Mismatch => ("differs", "bad"),
        Conclusion::Unverifiable => ("unknown", "unv"),
    }
}

/// The sentence where the witness's own one says another thing or less.
fn sentence(end: Conclusion, level: Level) -> Option<&'static str> {
    match end {
        Conclusion::Reported => Some("Reported by the tool, and checked by nobody else."),
        Conclusion::ChangedNothing if level == Level::L0 => {
            Some("It ran and changed nothing, by its own report.")
        }
        Conclusion::ChangedNothing => Some("It ran and changed nothing."),
        Conclusion::NotApplied => Some("It failed, and nothing of it was applied."),
        Conclusion::Verified | Conclusion::Mismatch | Conclusion::Unverifiable => None,
    }
}

/// A member that is a word of the vocabulary.
fn read<T: FromStr>(of: &Value, name: &str) -> Result<T, Error> {
    let word = of.get_attr(name)?;
    let read = word.as_str().and_then(|word| word.parse().ok());
    let wrong = || Error::new(ErrorKind::InvalidOperation, format!("`{name}` is no word: {word}"));
    read.ok_or_else(wrong)
}

/// Whether this is the digest of an answer that is null.
fn is_nothing(digest: &str) -> bool {
    digest == crypto::sha256("null").to_string()
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::{conclusion, is_nothing};

    /// The word, the look and the short form.
    fn told(run: &str, rows: Option<u64>, (verdict, level): (&str, &str)) -> Option<[String; 3]> {
        let witness = context! { verdict, level, summary => "S." };
        let execution = rows.map_or_else(
            || context! { status => run },
            |rows| context! { status => run, rows_changed => rows },
        );
        let end = conclusion(&witness, &execution).unwrap();
        let part = |name| end.get_attr(name).unwrap().to_string();
        (!end.is_none()).then(|| ["word", "look", "short"].map(part))
    }

    #[test]
    fn green_is_for_what_was_checked_and_changed_something() {
        let verified = |level| ("VERIFIED", level);
        let cases = [
            (
                None,
                verified("L0"),
                ["Reported", "line", "Reported by the tool, and checked by nobody else."],
            ),
            (Some(2), verified("L0"), ["Reported", "line", "2 rows changed, by its own report."]),
            (
                Some(0),
                verified("L0"),
                ["Changed nothing", "line", "It ran and changed nothing, by its own report."],
            ),
            (Some(0), verified("L2"), ["Changed nothing", "line", "It ran and changed nothing."]),
            (Some(1), verified("L2"), ["Verified", "ok", "1 row changed. S."]),
            (None, verified("L1"), ["Verified", "ok", "S."]),
            (Some(1), ("MISMATCH", "L2"), ["Mismatch", "bad", "S."]),
            (Some(0), ("UNVERIFIABLE", "L0"), ["Unverifiable", "unv", "S."]),
        ];
        for (rows, finding, due) in cases {
            assert_eq!(told("succeeded", rows, finding), Some(due.map(str::to_owned)));
        }
        assert_eq!(told("failed", None, verified("L0")), None);
        let kept = told("failed", None, verified("L2")).unwrap();
        assert_eq!(kept[..2], ["Not applied", "line"]);
        assert_eq!(told("failed", None, ("MISMATCH", "L2")).unwrap()[1], "bad");
    }

    #[test]
    fn an_answer_that_is_null_is_known_by_its_digest() {
        let digest = "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b";
        assert!(is_nothing(digest) && !is_nothing(&digest.replace('b', "c")));
    }
}
