use super::*;

#[test]
fn packages_are_found_however_they_are_written() {
    let found = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        packages(&words).join(" ")
    };
    assert_eq!(found("-p a --package b --package=c -pd name"), "a b c d");
    assert_eq!(found("some_test -- -p not-a-package"), "");
    assert_eq!(found("--no-run"), "");
}
