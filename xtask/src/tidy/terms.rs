//! The terms that the texts of the product use, and the words that they replace. `docs/vocabulary.md`
//! prints the table, and a rule holds every text that a user reads to it.

use super::texts::{Text, texts};
use super::tree::Tree;

/// A term of the texts.
#[derive(Debug)]
struct Term {
    /// The term, or the terms, to use.
    say: &'static str,
    /// What it means.
    meaning: &'static str,
    /// The words and phrases that it replaces.
    not: &'static [&'static str],
    /// Phrases in which such a word is fine.
    except: &'static [&'static str],
}

const fn term(say: &'static str, meaning: &'static str, not: &'static [&'static str]) -> Term {
    Term { say, meaning, not, except: &[] }
}

impl Term {
    const fn except(self, except: &'static [&'static str]) -> Self {
        Self { except, ..self }
    }
}

/// Every term, by what it is about.
#[rustfmt::skip]
const TERMS: &[Term] = &[
    term("response", "what the service, an API or a server returns for a request", &["answer", "answers", "answered", "answering"]).except(&["no answer means no"]),
    term("API", "the HTTP routes of the service; the API reference describes them", &["the interface"]),
    term("approve, deny, decide", "what a person does with an approval request", &["say yes", "says yes", "said yes", "say no", "says no", "said no", "a yes", "a no"]),
    term("operator; anyone who; the person who", "a person, by role or by what they did", &["whoever"]),
    term("expires, expired", "the end of a time limit, after which something is not valid", &["time is over", "run out", "runs out", "ran out"]),
    term("stays valid; continues", "a state or an activity that does not end", &["go on", "goes on", "going on", "went on", "works on", "signs on"]),
    term("no longer", "true before, and not now", &["no more", "any more"]).except(&["no more than"]),
    term("previous", "the next older one of its kind", &["the one before", "the ones before"]),
    term("new; again", "a second time, from the start", &["anew"]),
    term("immediately; at the same time", "without delay; in parallel", &["at once"]),
    term("automatically", "without a person", &["by itself", "by themselves", "of itself"]),
    term("shows, says, returns, reports", "how a page, a text, a call or a tool gives information", &["tell", "tells", "telling", "told"]),
    term("is, exists, applies", "how something is, or where it is written", &["stand", "stands", "stood"]),
    term("result, outcome", "how a call or a request ended", &["came of", "come of", "comes of", "became of", "become of", "becomes of", "came out"]),
    term("allowed, accepted", "what a rule or a check lets pass", &["let in", "lets in"]),
    term("complete, intact", "without a missing or a changed part", &["is whole", "are whole", "was whole", "not whole"]),
    term("only", "this and nothing else", &["alone"]),
    term("except", "all others", &["but for"]),
    term("the same", "no difference between them", &["alike"]),
    term("with; next to; in addition to", "together in time; in place; further", &["beside"]),
    term("a number of", "a quantity with its unit", &["so many"]),
];

/// The table of the terms as a part of a page.
pub(crate) fn markdown() -> String {
    let head = "| Term | Meaning | Instead of |\n|---|---|---|\n".to_owned();
    let rows = TERMS.iter().map(|Term { say, meaning, not, except }| {
        let but =
            if except.is_empty() { String::new() } else { format!(" (but {})", coded(except)) };
        format!("| {say} | {meaning} | {}{but} |\n", coded(not))
    });
    rows.fold(head, |page, row| page + &row)
}

fn coded(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// No text that a user reads has a word that a term replaces.
pub(crate) fn texts_use_the_terms(tree: &Tree) -> Vec<String> {
    let found = |text: Text| {
        let words = words(&text);
        let mut found = Vec::new();
        for term in TERMS {
            for phrase in term.not {
                let uses = uses(&words, phrase).filter(|at| !is_excepted(&words, *at, term));
                found.extend(uses.filter_map(|at| {
                    let line = words.get(at)?.line;
                    Some(format!("{}:{line}: `{phrase}`; say: {}", text.path, term.say))
                }));
            }
        }
        found
    };
    texts(tree).into_iter().flat_map(found).collect()
}

/// A word of a text.
struct Word {
    line: usize,
    /// In small letters.
    letters: String,
    /// Whether only space is between it and the word before it.
    follows: bool,
}

fn words(text: &Text) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut line, mut word, mut follows) = (text.line, String::new(), false);
    for letter in text.content.chars().chain(['\n']) {
        if letter.is_alphanumeric() || "_-'".contains(letter) {
            word.extend(letter.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.push(Word { line, letters: std::mem::take(&mut word), follows });
            follows = true;
        }
        // A backslash at the end of a line continues a literal.
        follows &= letter.is_whitespace() || letter == '\\';
        line += usize::from(letter == '\n');
    }
    words
}

/// The places at which the phrase begins.
fn uses<'a>(words: &'a [Word], phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    (0..words.len()).filter(|at| is_at(words, *at, phrase))
}

fn is_at(words: &[Word], at: usize, phrase: &str) -> bool {
    phrase.split(' ').enumerate().all(|(nth, part)| {
        words.get(at + nth).is_some_and(|it| it.letters == part && (nth == 0 || it.follows))
    })
}

/// Whether the place is within a phrase that the term excepts.
fn is_excepted(words: &[Word], at: usize, term: &Term) -> bool {
    term.except.iter().any(|phrase| {
        let length = phrase.split(' ').count();
        (at.saturating_sub(length - 1)..=at).any(|from| is_at(words, from, phrase))
    })
}
