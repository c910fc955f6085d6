//! Logs of which a part is archived: as it was read out, and with one thing wrong.

use serde_json::{Value, json};

use super::cases::{Case, Keys, edit};
use crate::{
    ArchivedDeeds, Body, Changes, Content, Ending, ExecutionStatus, Level, Purpose, SealKeys,
    Sealer, WitnessMethod,
    tests::support::{CHECKPOINT_SEED, DEED_SEED, Log, amendment_of, key_file, lines},
    tree::Tree,
};

/// The log of twelve deeds from which these cases are made.
const SIZE: u64 = 12;

/// The line for deeds of the log from one place up to another.
fn line(log: &Log, (from, to): (u64, u64), checkpoint: Option<String>) -> Value {
    let tree = Tree::of(log.sealed.iter().map(|deed| deed.digest));
    let last = log.sealed[usize::try_from(to - 1).unwrap()].digest;
    let of = (log.head.log(), "2025_11");
    let line = ArchivedDeeds::of(of, (from, to), (&tree, last), checkpoint).unwrap();
    serde_json::to_value(line).unwrap()
}

/// The log with these parts archived, each with a checkpoint beside it.
fn read_out(log: &Log, parts: &[(u64, u64)], checkpoint: Option<&str>) -> Vec<Value> {
    let mut all = Vec::new();
    for (place, form) in (0..).zip(&log.forms) {
        let checkpoint = checkpoint.map(str::to_owned);
        all.extend(
            parts
                .iter()
                .filter(|part| part.0 == place)
                .map(|part| line(log, *part, checkpoint.clone())),
        );
        let is_here = parts.iter().all(|(from, to)| place < *from || place >= *to);
        all.extend(is_here.then(|| form.clone()));
    }
    all
}

/// The checkpoint of the log when it had so many deeds.
fn kept(size: u64) -> String {
    Log::of(size).checkpoint()
}

/// The inputs that are valid.
pub(super) fn kept_and_archived() -> Vec<Case> {
    let (log, now) = (Log::of(SIZE), kept(SIZE));
    let out = |parts: &[(u64, u64)]| lines(&read_out(&log, parts, Some(&now)));
    let bare = |parts: &[(u64, u64)]| lines(&read_out(&log, parts, None));
    let behind = lines(&read_out(&log, &[(4, 8)], Some(&now))[2..]);
    let alone = lines(&read_out(&Log::of(6), &[(0, 5)], Some(&kept(6))));
    let swapped = {
        let seeds = [(Purpose::Deed, CHECKPOINT_SEED), (Purpose::Checkpoint, DEED_SEED)];
        let keys = SealKeys::from_pem(&key_file(&seeds)).unwrap();
        let since = log.now();
        Sealer::alone(keys, since).unwrap().checkpoint(&log.head, log.now()).unwrap()
    };
    vec![
        Case::valid("archived deeds before the others", "chained", out(&[(0, 5)]))
            .archiving(&[(0, 5, true)]),
        Case::valid(
            "archived deeds between others and at the end",
            "chained",
            out(&[(3, 4), (7, 12)]),
        )
        .archiving(&[(3, 4, true), (7, 12, true)]),
        Case::valid("one deed behind archived ones", "chained", alone).archiving(&[(0, 5, true)]),
        Case::valid(
            "archived deeds behind a checkpoint from before",
            "checkpointed",
            out(&[(4, 8)]),
        )
        .knowing(&kept(3))
        .archiving(&[(4, 8, true)]),
        Case::valid(
            "archived deeds that a checkpoint from before divides",
            "checkpointed",
            out(&[(0, 3), (3, 8)]),
        )
        .knowing(&kept(3))
        .archiving(&[(0, 3, true), (3, 8, true)]),
        Case::valid(
            "archived deeds that a checkpoint from before alone vouches for",
            "checkpointed",
            bare(&[(2, 9)]),
        )
        .knowing(&kept(10))
        .expecting(SIZE)
        .archiving(&[(2, 9, true)]),
        Case::valid(
            "archived deeds beside a checkpoint that no trusted key signed",
            "signed",
            with(&log, "/checkpoint", json!(swapped)),
        )
        .archiving(&[(0, 5, false)]),
        Case::valid(
            "archived deeds beside a text that is no checkpoint",
            "signed",
            with(&log, "/checkpoint", json!("a text")),
        )
        .archiving(&[(0, 5, false)]),
        Case::valid("archived deeds that nothing vouches for", "signed", bare(&[(0, 6)]))
            .archiving(&[(0, 6, false)]),
        Case::valid(
            "archived deeds of which the first alone are vouched for",
            "signed",
            lines(
                &[&read_out(&log, &[(1, 2)], Some(&kept(4)))[..9], &[line(&log, (9, 12), None)]]
                    .concat(),
            ),
        )
        .archiving(&[(1, 2, true), (9, 12, false)]),
        Case::valid("archived deeds of a log that is read from the middle", "signed", behind)
            .archiving(&[(4, 8, false)]),
        Case::valid(
            "archived deeds of a log that is not read to the checkpoint beside them",
            "signed",
            lines(&read_out(&log, &[(0, 5)], Some(&now))[..4]),
        )
        .archiving(&[(0, 5, false)]),
    ]
}

/// The log with its first five deeds archived, and one member of their line changed.
fn with(log: &Log, pointer: &str, value: Value) -> String {
    let mut all = read_out(log, &[(0, 5)], Some(&kept(SIZE)));
    all[0] = edit(&all[0], pointer, value);
    lines(&all)
}

/// Amendments of an action, of which those before the last are archived or not.
pub(super) fn amended() -> Vec<Case> {
    let log = amended_twice();
    let now = log.checkpoint();
    let out = |part| lines(&read_out(&log, &[part], Some(&now)));
    vec![
        Case::valid("two amendments of an action", "chained", log.lines()),
        Case::valid("an amendment behind one that is archived", "chained", out((1, 2)))
            .archiving(&[(1, 2, true)]),
        Case::valid("an amendment of an archived action", "chained", out((0, 1)))
            .archiving(&[(0, 1, true)]),
    ]
}

/// An action whose end nobody knew, an amendment that tells it, and one by evidence for it.
fn amended_twice() -> Log {
    let mut log = Log::new();
    let unknown = |draft: &mut crate::Draft| {
        let Content::Action(action) = &mut draft.content else { return };
        let Ending::Ran(run) = &mut action.ending else { return };
        (run.execution.status, run.execution.result) = (ExecutionStatus::Unknown, None);
        run.execution.result_digest = None;
        run.witness.verdict = model::Verdict::Unverifiable;
        (run.witness.level, run.witness.method) = (Level::L0, WitnessMethod::None);
        run.witness.sources.clear();
    };
    let action = log.seal_action(unknown).unwrap();
    let whole = Log::new().seal_action(|_| {}).unwrap();
    let Content::Action(whole) = Body::read(whole.body.as_bytes()).unwrap().content else {
        panic!("the specimen is no action");
    };
    let run = whole.ending.run().unwrap().clone();
    for (n, changes) in [
        (1, Changes { execution: Some(run.execution.clone()), witness: None }),
        (2, Changes { execution: None, witness: Some(run.witness.clone()) }),
    ] {
        let make = amendment_of(&action);
        log.seal(|mint| {
            let (mut draft, _) = make(mint);
            if let Content::Amendment(amendment) = &mut draft.content {
                (amendment.n, amendment.changes) = (n, changes);
            }
            (draft, vec![])
        })
        .unwrap();
    }
    log
}

/// The inputs that are not valid.
pub(super) fn refused() -> Vec<Case> {
    let log = Log::of(SIZE);
    [compared(&log), mistold(&log), misplaced(&log)].concat()
}

/// Inputs that hold, and are not shown to be what a checkpoint vouched for.
fn compared(log: &Log) -> Vec<Case> {
    let whole = |parts: &[(u64, u64)]| read_out(log, parts, Some(&kept(SIZE)));
    let inside = lines(&whole(&[(0, 5)]));
    vec![
        Case::undecidable(
            "a checkpoint from before that ends among archived deeds",
            &["root"],
            &inside,
        )
        .knowing(&kept(3)),
        Case::undecidable(
            "a checkpoint from before without one of what was archived since",
            &["root"],
            lines(&read_out(log, &[(4, 8)], None)),
        )
        .knowing(&kept(3)),
        Case::undecidable(
            "archived deeds of a log from the middle beside a checkpoint",
            &["root"],
            lines(&whole(&[(4, 8)])[2..]),
        )
        .knowing(&kept(10)),
        Case::undecidable("archived deeds without keys", &["key"], &inside).under(Keys::None),
        Case::invalid(
            "archived deeds beside a checkpoint of more deeds than there are",
            &["root"],
            lines(&whole(&[(0, 5)])[..4]),
        )
        .knowing(&kept(10)),
        Case::invalid("archived deeds and another size", &["size"], &inside).expecting(5),
    ]
}

/// Lines that say something else than the log does.
fn mistold(log: &Log) -> Vec<Case> {
    let first = |pointer: &str, value: Value| with(log, pointer, value);
    let another = crypto::sha256("another").to_string();
    let elsewhere = log.head.log().as_str().replace("specimen", "elsewhere");
    let mut fewer = line(log, (0, 5), None);
    fewer["subtrees"].as_array_mut().unwrap().clear();
    vec![
        Case::invalid(
            "archived deeds under another subtree",
            &["archived"],
            first("/subtrees/0", json!(another)),
        ),
        Case::invalid(
            "archived deeds under another subtree that only a kept checkpoint shows",
            &["root"],
            {
                let mut all = read_out(log, &[(0, 5)], None);
                all[0]["subtrees"][0] = json!(another);
                lines(&all)
            },
        )
        .knowing(&kept(9)),
        Case::invalid(
            "archived deeds with another last one",
            &["prev", "archived"],
            first("/last", json!(another)),
        ),
        Case::invalid(
            "archived deeds with too few subtrees",
            &["archived"],
            lines(&[&[fewer], &log.forms[5..]].concat()),
        ),
        Case::invalid(
            "archived deeds of another log",
            &["archived"],
            first("/log", json!(elsewhere)),
        ),
        Case::invalid(
            "archived deeds under a checkpoint of fewer deeds",
            &["archived"],
            first("/checkpoint", json!(kept(4))),
        ),
    ]
}

/// Lines at a wrong place, and lines that are none.
fn misplaced(log: &Log) -> Vec<Case> {
    let first = |pointer: &str, value: Value| with(log, pointer, value);
    let now = kept(SIZE);
    let mut ahead = read_out(log, &[(0, 5)], Some(&now));
    ahead[1..].rotate_left(1);
    vec![
        Case::invalid(
            "archived deeds that leave a place out",
            &["sequence", "prev"],
            lines(&[&[line(log, (0, 5), None)], &log.forms[6..]].concat()),
        ),
        Case::invalid(
            "archived deeds that are here too",
            &["sequence", "prev", "root"],
            lines(&[&[line(log, (0, 5), Some(now.clone()))], &log.forms[4..]].concat()),
        )
        .knowing(&kept(9)),
        Case::invalid(
            "archived deeds behind which the order is another",
            &["sequence", "prev", "time"],
            lines(&ahead),
        ),
        Case::malformed("archived deeds alone", line(log, (0, 5), Some(now.clone()))),
        Case::malformed(
            "archived deeds alone in two lines",
            lines(&[line(log, (0, 5), None), line(log, (5, 12), None)]),
        ),
        Case::malformed("archived deeds of no place", first("/to", json!(0))),
        Case::malformed(
            "archived deeds of a partition with another name",
            first("/partition", json!("2025-11")),
        ),
        Case::malformed(
            "archived deeds with a digest that is none",
            first("/last", json!("sha256:0")),
        ),
    ]
}
