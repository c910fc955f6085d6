//! Reading what Linux tells.

use super::*;

#[test]
fn the_numbers_are_found_where_linux_puts_them() {
    let texts = Texts {
        stat: "7 (chan (cery) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 12 0 4200 1 2"
            .to_owned(),
        status: "Name:\tchancery\nVmSize:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t12\n".to_owned(),
        limits:
            "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024      4096 files\n"
                .to_owned(),
        system: "cpu 1 2 3\nbtime 1700000000\n".to_owned(),
    };
    let process = texts.parse(9).unwrap();
    let expected = Process {
        cpu_seconds: 2.0,
        started: 1_700_000_042.0,
        resident: 1024 * 1024,
        addressed: 2048 * 1024,
        threads: 12,
        open_files: 9,
        most_files: Some(1024),
    };
    assert_eq!(process, expected);
}

#[test]
fn texts_of_another_kind_tell_nothing() {
    let nothing = || String::from("nothing");
    let texts = Texts { stat: nothing(), status: nothing(), limits: nothing(), system: nothing() };
    assert_eq!(texts.parse(1), None);
}
