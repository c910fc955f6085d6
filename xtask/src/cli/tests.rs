use super::*;

fn parsed(line: &str) -> (Verb, Vec<String>) {
    parse(line.split(' ').map(OsString::from).collect())
}

#[test]
fn test_hands_on_every_word_after_its_own_flags() {
    let (verb, rest) = parsed("xtask test --yes -p policy -- --nocapture --yes");
    assert!(matches!(verb, Verb::Test { yes: true }));
    assert_eq!(rest, ["-p", "policy", "--", "--nocapture", "--yes"]);
}

#[test]
fn test_hands_on_a_leading_separator() {
    let (verb, rest) = parsed("xtask test -- --nocapture");
    assert!(matches!(verb, Verb::Test { yes: false }));
    assert_eq!(rest, ["--", "--nocapture"]);
}

#[test]
fn other_verbs_keep_their_words() {
    let (verb, rest) = parsed("xtask up --port 8081 --fresh");
    assert!(matches!(verb, Verb::Up(Up { fresh: true, yes: false, port: Some(8081), data: None })));
    assert!(rest.is_empty());
}

#[test]
fn citus_takes_the_folder_that_it_cannot_do_without() {
    let (verb, _) = parsed("xtask citus --bin-folder /opt/citus/bin");
    let Verb::Citus(Citus { bin_folder }) = verb else { panic!("another verb: {verb:?}") };
    assert_eq!(bin_folder, PathBuf::from("/opt/citus/bin"));
    assert!(Cli::try_parse_from(["xtask", "citus"]).is_err());
}

#[test]
fn counts_prints_circles_or_changes() {
    let (verb, _) = parsed("xtask counts --circles gate");
    let Verb::Counts(Counts { circles, since }) = verb else { panic!("another verb: {verb:?}") };
    assert_eq!((circles.as_deref(), since), (Some("gate"), None));
    let both = ["xtask", "counts", "--circles", "gate", "--since", "HEAD"];
    assert!(Cli::try_parse_from(both).is_err());
}

#[test]
fn the_names_of_before_are_still_taken() {
    assert!(matches!(parsed("xtask check").0, Verb::Gate { yes: false }));
    assert!(matches!(
        parsed("xtask crash --rounds 20").0,
        Verb::Faults(Faults { rounds: Some(20), .. })
    ));
}
