//! Where a page leads on to: the `next` of addresses and forms.

use crypto::Secret;
use web::{ApiError, Call, Fields, Param, Query};

/// The most bytes of a page's path.
const LONGEST: usize = 1024;
const JOIN_PAGE: &str = "/app/join";

/// The parameters of the page of an invitation.
pub(crate) const JOIN: &[Param] =
    &[Param::One("invite"), Param::One("next"), Param::One("problem")];

/// Whether this is a path of this server, which no browser takes for an address of another.
pub(crate) fn is_page(path: &str) -> bool {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_plain && path.starts_with('/') && !path.starts_with("//") && path.len() <= LONGEST
}

/// The member `next` of a body.
pub(crate) fn next_page(fields: &mut Fields) -> Result<Option<String>, ApiError> {
    let Some(next) = fields.optional::<String>("next")? else { return Ok(None) };
    if is_page(&next) {
        return Ok(Some(next));
    }
    Err(fields.error("next", "expected a path of this server, such as `/app`"))
}

/// The page that a form goes on to. A JSON body has no such member, as no page waits for its answer.
pub(crate) fn next_of_form(call: &Call, fields: &mut Fields) -> Result<Option<String>, ApiError> {
    if call.is_form() { next_page(fields) } else { Ok(None) }
}

/// The parameter `next` of an address, where it is a page.
pub(crate) fn next_in(query: &Query) -> Option<String> {
    query.text("next").filter(|path| is_page(path)).map(str::to_owned)
}

/// The page that asks for an org, and leads on.
pub(crate) fn orgs_page(next: Option<&str>) -> String {
    leading_on("/app/orgs", next)
}

/// The page that asks for another sign-in, and leads on.
pub(crate) fn again_page(next: Option<&str>) -> String {
    leading_on("/app/again", next)
}

fn leading_on(page: &str, next: Option<&str>) -> String {
    let on = next.map(|next| format!("?next={}", pages::encoded(next)));
    format!("{page}{}", on.unwrap_or_default())
}

/// The page of an invitation.
pub(crate) struct JoinPage {
    /// The token of the invitation.
    pub(crate) invite: Secret<String>,
    /// The page that comes after it.
    pub(crate) next: Option<String>,
}

impl JoinPage {
    /// The page that a path leads to; nothing of a path to any other page.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let query = path.strip_prefix(JOIN_PAGE)?.strip_prefix('?')?;
        let query = Query::read(Some(query), JOIN).ok()?;
        let invite = Secret::new(query.text("invite")?.to_owned());
        Some(Self { invite, next: next_in(&query) })
    }

    /// The path to the page. What would make it too long to be led to leads nowhere behind it.
    pub(crate) fn path(&self) -> String {
        let alone = format!("{JOIN_PAGE}?invite={}", pages::encoded(self.invite.expose()));
        let whole = self.next.as_ref();
        let whole = whole.map(|next| format!("{alone}&next={}", pages::encoded(next)));
        whole.filter(|path| is_page(path)).unwrap_or(alone)
    }
}

#[cfg(test)]
mod tests {
    use crypto::Secret;

    use super::{JoinPage, is_page, orgs_page};

    fn join(next: Option<&str>) -> JoinPage {
        let invite = Secret::new("org_1.inv_2.a&b=c".to_owned());
        JoinPage { invite, next: next.map(str::to_owned) }
    }

    #[test]
    fn the_page_of_an_invitation_is_found_again_in_its_path() {
        for next in [None, Some("/app/approvals/apr_1?tab=a&b=%2F")] {
            let path = join(next).path();
            assert!(is_page(&path), "{path}");
            let found = JoinPage::of(&path).unwrap();
            assert_eq!(found.invite.expose(), "org_1.inv_2.a&b=c");
            assert_eq!(found.next.as_deref(), next);
        }
    }

    #[test]
    fn a_path_that_would_be_too_long_leads_to_the_invitation_alone() {
        let path = join(Some(&format!("/app/{}", "x".repeat(1000)))).path();
        assert_eq!(path, join(None).path());
    }

    #[test]
    fn no_other_path_is_the_page_of_an_invitation() {
        for path in [
            "/app",
            "/app/join",
            "/app/join?next=/app",
            "/app/joined?invite=x",
            "//app/join?invite=x",
        ] {
            assert!(JoinPage::of(path).is_none(), "{path}");
        }
        let elsewhere = JoinPage::of("/app/join?invite=x&next=//evil.example").unwrap();
        assert_eq!(elsewhere.next, None);
    }

    #[test]
    fn the_page_of_orgs_leads_on() {
        assert_eq!(orgs_page(None), "/app/orgs");
        assert_eq!(orgs_page(Some("/app/a?b=1")), "/app/orgs?next=%2Fapp%2Fa%3Fb%3D1");
    }
}
