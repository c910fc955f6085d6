//! What letters say, held against files to be read by people; `UPDATE_EXPECT=1` writes them anew.

use expect_test::expect_file;
use minijinja::Error;

use super::*;
use crate::stationery::{Stationery, Written};

fn written(letter: &Letter) -> Written {
    let written = Stationery::new("chancery.example").and_then(|it| it.write(letter));
    written.map_err(|error: Error| error.to_string()).unwrap()
}

fn composed(letter: &Letter) -> String {
    let composed = sender().compose(letter).unwrap();
    String::from_utf8(composed.bytes).unwrap()
}

#[test]
fn a_letter_to_sign_in_reads_as_it_should() {
    let written = written(&sign_in("bob@example.org"));
    expect_file!["letters/sign-in.txt"].assert_eq(&written.text);
    expect_file!["letters/sign-in.html"].assert_eq(&written.html);
    expect_file!["letters/sign-in.eml"]
        .assert_eq(&composed(&sign_in("bob@example.org")).replace('\r', ""));
}

#[test]
fn an_invitation_reads_as_it_should() {
    let written = written(&Letter::Invitation(invitation("Acme & Söhne")));
    expect_file!["letters/invitation.txt"].assert_eq(&written.text);
    expect_file!["letters/invitation.html"].assert_eq(&written.html);
    let alone = Letter::Invitation(Invitation { inviter: None, ..invitation("Acme") });
    let written = self::written(&alone);
    assert!(written.text.starts_with("You are invited to join \"Acme\" at"), "{}", written.text);
    assert_eq!(written.subject, "Invitation to Acme");
}

#[test]
fn a_question_reads_as_it_should_and_says_in_one_sentence_what_is_asked() {
    let written = written(&question("support", "shop.refund"));
    expect_file!["letters/question.txt"].assert_eq(&written.text);
    expect_file!["letters/question.html"].assert_eq(&written.html);
    assert_eq!(written.subject, "support waits for approval");
    let Letter::Question(letter) = question("support", "shop.refund") else { panic!("a question") };
    let Written { text, html, .. } =
        self::written(&Letter::Question(Question { may_decide: false, ..letter }));
    for form in [text, html] {
        assert!(
            form.contains("who are signed in") && !form.contains("approve or deny once"),
            "{form}"
        );
    }
}

#[test]
fn a_letter_about_a_disabled_endpoint_reads_as_it_should() {
    let letter = || webhook_disabled("Acme & Söhne", "https://hooks.example.com");
    let written = written(&Letter::WebhookDisabled(letter()));
    expect_file!["letters/webhook-disabled.txt"].assert_eq(&written.text);
    expect_file!["letters/webhook-disabled.html"].assert_eq(&written.html);
    assert_eq!(written.subject, "Webhook endpoint of Acme & Söhne was disabled");
    let unknown = WebhookDisabled { failing_since: None, ..letter() };
    let Written { text, html, .. } = self::written(&Letter::WebhookDisabled(unknown));
    for form in [text, html] {
        assert!(form.contains("too long") && !form.contains("19 November"), "{form}");
    }
}

#[test]
fn what_an_agent_calls_itself_or_its_tool_is_only_a_name() {
    let hostile = "<b>x</b>\r\nBcc: eve@example.org\r\n\r\n{{ link }}\u{202E}";
    let letter = question(hostile, hostile);
    let Written { subject, text, html } = written(&letter);
    assert!(!html.contains("<b>") && html.contains("&lt;b&gt;"), "{html}");
    assert!(!text.contains('\r') && !text.lines().any(|line| line.starts_with("Bcc:")), "{text}");
    assert!(!subject.chars().any(char::is_control), "{subject}");
    let message = composed(&letter);
    let (headers, _) = message.split_once("\r\n\r\n").unwrap();
    assert_eq!(headers.lines().filter(|line| line.starts_with("Bcc")).count(), 0, "{headers}");
}

#[test]
fn a_letter_fetches_nothing_and_says_all_in_words() {
    let all = [
        sign_in("bob@example.org"),
        Letter::Invitation(invitation("Acme")),
        question("support", "shop.refund"),
        Letter::WebhookDisabled(webhook_disabled("Acme", "https://hooks.example.com")),
    ];
    for letter in all {
        let Written { html, text, .. } = written(&letter);
        for foreign in ["<img", "<script", "<link", "<style", "url(", "@import", "src=", "cid:"] {
            assert!(!html.contains(foreign), "{foreign}: {html}");
        }
        let link = text.lines().find(|line| line.starts_with("https://")).unwrap();
        let escaped = link.replace('&', "&amp;").replace('/', "&#x2f;");
        // Once where it leads to from the button, and once to from itself, and once in words.
        assert_eq!(html.matches(&escaped).count(), 3, "{escaped}\n{html}");
    }
    assert!(
        written(&sign_in("bob@example.org")).html.contains(CODE)
            && written(&sign_in("bob@example.org")).text.contains(CODE)
    );
    assert!(!written(&sign_in("bob@example.org")).subject.contains(CODE));
}

#[test]
fn a_name_that_somebody_chose_is_only_a_name() {
    let hostile =
        "<a href='https://evil.example'>x</a>\r\nBcc: eve@example.org\r\n\r\n{{ link }}\u{202E}";
    let Written { subject, text, html } = written(&Letter::Invitation(invitation(hostile)));
    assert!(!html.contains("<a href='") && html.contains("&lt;a href="), "{html}");
    assert!(!text.contains('\r') && !text.lines().any(|line| line.starts_with("Bcc:")), "{text}");
    assert!(text.contains("{{ link }}\u{FFFD}"), "{text}");
    assert!(!subject.chars().any(char::is_control), "{subject}");
    let message = composed(&Letter::Invitation(invitation(hostile)));
    let (headers, _) = message.split_once("\r\n\r\n").unwrap();
    assert_eq!(headers.lines().filter(|line| line.starts_with("Bcc")).count(), 0, "{headers}");
    assert_eq!(headers.lines().count(), headers.matches("\r\n").count() + 1);
    let letter = Letter::WebhookDisabled(webhook_disabled(hostile, hostile));
    let Written { subject, text, html } = written(&letter);
    assert!(!html.contains("<a href='") && !subject.chars().any(char::is_control), "{html}");
    assert!(!text.contains('\r') && !text.lines().any(|line| line.starts_with("Bcc:")), "{text}");
    let long = written(&Letter::Invitation(invitation(&"a".repeat(500))));
    assert_eq!(long.subject.chars().count(), "Invitation to ".len() + 81);
}

#[test]
fn the_same_letter_is_the_same_bytes_and_its_debug_has_no_secret() {
    assert_eq!(composed(&sign_in("bob@example.org")), composed(&sign_in("bob@example.org")));
    let shown = format!("{:?}", sign_in("bob@example.org"));
    assert!(!shown.contains("Zm9v") && !shown.contains(CODE) && !shown.contains("bob"), "{shown}");
    let shown = format!("{:?}", question("support", "shop.refund"));
    assert!(!shown.contains("YWJj") && !shown.contains("bob"), "{shown}");
}
