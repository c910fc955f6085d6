//! The catalogue, its pages and the published lists.

use web::catalogue::{Code, Family, errors_markdown, page};

#[test]
fn every_code_has_a_row_a_page_and_a_line_in_the_docs() {
    let docs = errors_markdown();
    for code in Code::ALL {
        let entry = code.entry();
        assert_eq!(Code::from_word(code.as_str()), Some(*code));
        assert!(docs.contains(&format!("| `{code}` |")), "{code}");
        let page = page(*code);
        assert!(page.contains(&format!("<h1><code>{code}</code></h1>")), "{code}");
        assert!(!entry.title.is_empty() && !entry.remedy.is_empty(), "{code}");
        assert_eq!(page.matches('`').count(), 0, "{code} has an odd backtick");
    }
}

#[test]
fn statuses_fit_their_families() {
    for entry in Code::ALL.iter().map(|code| code.entry()) {
        for status in entry.statuses {
            let fits = match entry.family {
                Family::Authentication => *status == 401,
                Family::Policy | Family::Permission => *status == 403,
                Family::RateLimit => *status == 429,
                Family::Api => (500..600).contains(status),
                Family::InvalidRequest => {
                    (400..500).contains(status) && ![401, 403, 429].contains(status)
                }
            };
            assert!(fits, "{} comes with {status}", entry.code);
        }
    }
}
