//! Logs of which a part is archived, followed and read from files, with and without the deeds that
//! went.

use std::fmt::Write as _;

use clap::Parser;
use deed::{ArchivedDeeds, DEED_TYPE, Envelope, Sealed, specimen, tree::Tree};

use super::{Change, Log, Scribe, Service};
use crate::{
    cli::Cli,
    exit::Exit,
    verbs::{run, verify::archive::Archive},
};

/// The lines of the log from one place up to another, with one for each of its archived parts, which
/// end where a kept checkpoint does.
pub(super) fn read_out(log: &Log, (from, to): (usize, usize), known: Option<usize>) -> String {
    let cuts = known.into_iter().filter(|_| !log.keeps_together);
    let mut bounds: Vec<_> = cuts.chain([from, to]).collect();
    bounds.extend(log.archived.iter().flat_map(|(from, to)| [*from, *to]));
    bounds.retain(|bound| (from..=to).contains(bound));
    bounds.sort_unstable();
    bounds.dedup();
    let part = |pair: &[usize]| {
        let (from, to) = (pair[0], pair[1]);
        let is_away = log.archived.iter().any(|away| away.0 <= from && to <= away.1);
        if is_away { line(log, (from, to)) } else { log.lines[from..to].concat() }
    };
    bounds.windows(2).map(part).collect()
}

fn line(log: &Log, (from, to): (usize, usize)) -> String {
    let tree = Tree::of(log.sealed.iter().map(|sealed| sealed.digest));
    let origin = log.notes[0].lines().next().unwrap().parse().unwrap();
    let last = log.sealed[to - 1].digest;
    let note = log.notes.last().cloned();
    let places = (from as u64, to as u64);
    let mut line = ArchivedDeeds::of((&origin, "2025_11"), places, (&tree, last), note).unwrap();
    if let Some(spoil) = log.spoils {
        spoil(&mut line);
    }
    line.to_line().unwrap() + "\n"
}

/// The dump of the deeds' partition as `pg_dump` writes it, in the order in which rows may lie.
fn dump(deeds: &[Sealed]) -> String {
    let rows = deeds.iter().rev().map(|deed| {
        let body = deed.body.replace('\\', "\\\\");
        let mut hex = String::new();
        deed.signature.iter().for_each(|byte| write!(hex, "{byte:02x}").unwrap());
        format!("00000000-0000\t7\t{body}\t\\\\x{hex}\t{}\n", deed.key_id)
    });
    let rows: String = rows.collect();
    format!(
        "--\n-- PostgreSQL database dump\n--\n\nCREATE TABLE public.deed_2025_11 ();\n
COPY public.action_2025_11 (org_id, record) FROM stdin;\n00000000-0000\t{{}}\n\\.\n
COPY public.deed_2025_11 (org_id, seq, body, signature, key_id) FROM stdin;\n{rows}\\.\n\n"
    )
}

fn archived(deeds: usize, archived: &[(usize, usize)]) -> Log {
    Log { archived: archived.to_vec(), ..Scribe::log(deeds) }
}

#[test]
fn a_log_of_which_a_part_is_archived_holds_and_says_what_was_left_out() {
    let whole = Scribe::log(20).lines.concat().len();
    for parts in [&[(0, 9)][..], &[(2, 5), (5, 11)], &[(4, 5), (12, 20)], &[(0, 20)]] {
        for breaks in [None, Some(whole / 5)] {
            let log = archived(20, parts);
            for size in [1, 3, 7, 9, 16, 20] {
                let service = Service::of(log.clone(), breaks);
                let kept = service.put("kept", &log.notes[size]);
                let more = ["--known-checkpoint", &kept, "--expected-size", "20"];
                assert_eq!(service.verify(&more), Exit::Ok, "{parts:?} {breaks:?} {size}");
                let asked = service.asked.lock().unwrap();
                let read_out = asked.iter().find(|it| it.starts_with("/v1/log/deeds")).unwrap();
                assert!(read_out.ends_with(&format!("known_size={size}")), "{read_out}");
                // Of an archived action there is no evidence to be had.
                let first_is_here = parts.iter().all(|(from, _)| *from > 0);
                let evidence = asked.iter().any(|it| it.ends_with("/bundle"));
                assert!(first_is_here || !evidence, "{parts:?} {asked:?}");
            }
        }
    }
}

#[test]
fn archived_deeds_are_checked_where_their_files_are_given() {
    let log = archived(20, &[(0, 9), (9, 14)]);
    let other = Scribe::log(20);
    let service = Service::of(log.clone(), None);
    let verify = |files: &[&str]| {
        let named: Vec<_> = files.iter().flat_map(|file| ["--archived", file]).collect();
        service.verify(&named)
    };
    let bare: Vec<_> = log.sealed.iter().map(envelope).collect();
    let lines = service.put("lines", &log.lines[..9].concat());
    let dumped = service.put("dump", &dump(&log.sealed[..14]));
    let crlf = service.put("crlf", &dump(&log.sealed[..14]).replace('\n', "\r\n"));
    // What is no table of deeds does not count in a dump, and lines of archived deeds nowhere.
    let mixed =
        service.put("mixed", &(dump(&log.sealed[..14]) + "{ a function\n" + &log.lines[15]));
    let read_before = read_out(&log, (0, 9), None) + &log.lines[..9].concat();
    let read_before = service.put("before", &read_before);
    let envelopes = service.put("envelopes", &(bare[9..14].join("\n") + "\n"));
    let strange = service.put("strange", &other.lines[..9].concat());
    let well: [&[&str]; 7] = [
        &[&lines],
        &[&lines, &envelopes],
        &[&dumped],
        &[&crlf],
        &[&mixed],
        &[&read_before],
        &[&strange],
    ];
    for files in well {
        assert_eq!(verify(files), Exit::Ok, "{files:?}");
    }
    // What is in a file is checked: a body that was changed, a deed of which only some are there.
    let changed = log.lines[4].replace("\"value\":\"", "\"value\":\"A");
    let changed = [&log.lines[..4], &[changed], &log.lines[5..9]].concat().concat();
    let forged =
        service.put("forged", &log.lines[..9].concat().replace(&log.lines[3], &log.lines[4]));
    let few = service.put("few", &log.lines[..8].concat());
    let custom = service.put("custom", "PGDMP\u{1}\u{e}");
    let none = service.put("none", "--\n-- PostgreSQL database dump\n--\n");
    let cut = service.put("cut", &dump(&log.sealed[..9]).replace("\t\\\\x", "\t\\\\x0"));
    for file in [&few, &forged, &custom, &none, &cut, &service.put("changed", &changed)] {
        assert_eq!(verify(&[file]), Exit::Usage, "{file}");
    }
    assert_eq!(verify(&[&service.file("nowhere")]), Exit::Usage);
}

fn envelope(deed: &Sealed) -> String {
    let envelope = Envelope::new(DEED_TYPE, &deed.body, (&deed.key_id, &deed.signature));
    serde_json::to_string(&envelope).unwrap()
}

#[test]
fn a_deed_of_a_file_that_somebody_changed_is_found() {
    let (log, other) = (archived(12, &[(0, 6)]), Scribe::log(12));
    // A body that another key signed, under the name of the deed whose place it takes.
    let mut swapped = log.sealed[..6].to_vec();
    swapped[2].signature = other.sealed[2].signature;
    let service = Service::of(log, None);
    let file = service.put("swapped", &dump(&swapped));
    assert_eq!(service.verify(&["--archived", &file]), Exit::FoundBad);
}

#[test]
fn archived_deeds_that_are_mistold_are_refused() {
    let log = archived(20, &[(0, 9)]);
    let changes: [(&str, Change<'_>); 5] = [
        ("another subtree", &|log| {
            log.spoils = Some(|line| line.subtrees = vec![crypto::sha256("other")]);
        }),
        ("another last deed", &|log| {
            log.spoils = Some(|line| line.last = crypto::sha256("other"));
        }),
        ("a part that begins later", &|log| {
            log.spoils = Some(|line| line.from = 1);
        }),
        ("a part that is longer", &|log| {
            log.spoils = Some(|line| line.to = 10);
        }),
        ("a part over the kept checkpoint", &|log| log.keeps_together = true),
    ];
    for (what, change) in changes {
        let mut forged = log.clone();
        change(&mut forged);
        let service = Service::of(forged, None);
        let kept = service.put("kept", &log.notes[7]);
        assert_eq!(service.verify(&["--known-checkpoint", &kept]), Exit::FoundBad, "{what}");
    }
}

#[test]
fn nothing_counts_that_stands_behind_what_the_service_signs_for() {
    for parts in [&[][..], &[(12, 16)]] {
        let mut log = Log { overruns: true, ..archived(16, parts) };
        log.notes.truncate(13);
        let service = Service::of(log, None);
        assert_eq!(service.verify(&[]), Exit::FoundBad, "{parts:?}");
    }
}

#[test]
fn deeds_of_another_org_behind_archived_ones_are_found() {
    let mut scribe = Scribe::new();
    (0..9).for_each(|_| scribe.seal(specimen::admin));
    scribe.org = Scribe::new().org;
    (0..3).for_each(|_| scribe.seal(specimen::admin));
    let log = Log { sealed: scribe.sealed, archived: vec![(3, 9)], ..scribe.log };
    assert_eq!(Service::of(log, None).verify(&[]), Exit::FoundBad);
}

#[test]
fn a_file_with_archived_deeds_is_read_from_a_disk_too() {
    let log = archived(12, &[(0, 6)]);
    let service = Service::of(log.clone(), None);
    let file = service.put("log", &read_out(&log, (0, 12), Some(4)));
    let keys = service.put("keys.json", &log.keys);
    let kept = service.put("kept", &log.notes[4]);
    let dumped = service.put("dump", &dump(&log.sealed[..6]));
    let verify = |more: &[&str]| {
        let words = ["chancery", "verify", &file, "--keys", &keys, "--known-checkpoint", &kept];
        run(Cli::try_parse_from([&words, more].concat()).unwrap())
    };
    assert_eq!(verify(&[]), Exit::Ok);
    assert_eq!(verify(&["--archived", &dumped]), Exit::Ok);
    let input = std::fs::read(&file).unwrap();
    let filled = Archive::open(&[dumped.into()]).unwrap().fill(input).unwrap();
    let filled = String::from_utf8(filled).unwrap();
    assert_eq!(filled.lines().count(), 12);
    assert_eq!(filled.lines().next(), Some(&*envelope(&log.sealed[0])));
    assert!(!filled.contains("archived_deeds"));
}
