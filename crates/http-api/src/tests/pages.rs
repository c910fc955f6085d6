//! The catalogue, its pages and the published lists.

use web::{Code, CodeRow, Family, codes};

use crate::catalogue::{
    ALL, actions, approvals, changes, errors_markdown, from_word, page, sign_in,
};

#[test]
fn every_code_has_a_row_a_page_and_a_line_in_the_docs() {
    let docs = errors_markdown();
    for code in ALL {
        let row = code.row();
        assert_eq!(from_word(code.as_str()), Some(*code));
        assert!(docs.contains(&format!("| `{code}` |")), "{code}");
        let page = page(*code);
        assert!(page.contains(&format!("<h1><code>{code}</code></h1>")), "{code}");
        assert!(!row.title.is_empty() && !row.remedy.is_empty(), "{code}");
        assert_eq!(page.matches('`').count(), 0, "{code} has an odd backtick");
    }
}

#[test]
fn statuses_fit_their_families() {
    for CodeRow { word, statuses, family, .. } in ALL.iter().map(|code| code.row()) {
        for status in *statuses {
            let fits = match family {
                Family::Authentication => *status == 401,
                // 410 is what somebody is told whose answer comes too late.
                Family::Policy => [403, 410].contains(status),
                Family::Permission => *status == 403,
                Family::RateLimit => *status == 429,
                Family::Api => (500..600).contains(status),
                Family::InvalidRequest => {
                    (400..500).contains(status) && ![401, 403, 429].contains(status)
                }
            };
            assert!(fits, "{word} comes with {status}");
        }
    }
}

#[test]
fn the_codes_of_every_area_are_joined() {
    let mut joined: Vec<&str> = ALL.iter().map(|code| code.as_str()).collect();
    let areas: [&[Code]; 5] =
        [codes::ALL, actions::ALL, approvals::ALL, changes::ALL, sign_in::ALL];
    let mut every: Vec<&str> = areas.concat().into_iter().map(Code::as_str).collect();
    joined.sort_unstable();
    every.sort_unstable();
    assert_eq!(joined, every);
}
