//! Keys and sessions: what a request shows of who sent it.

use super::support::*;

/// The headers of a page of this site.
const OWN: &str = "Origin: http://test\r\nSec-Fetch-Site: same-origin\r\n";

async fn change(server: &Server, headers: &str) -> (u16, String, String) {
    let request = format!(
        "POST /v1/settings HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n{headers}\r\n{{}}"
    );
    let (status, body) = parsed(&exchange(server.address, request).await);
    let text = |name: &str| body["error"][name].as_str().unwrap_or_default().to_owned();
    (status, text("code"), text("param"))
}

async fn look(server: &Server, headers: &str) -> (u16, String) {
    let request =
        format!("GET /v1/settings HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n");
    let (status, body) = parsed(&exchange(server.address, request).await);
    (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_session_reads_by_its_cookie_alone() {
    let server = start(quick()).await;
    for cookie in
        ["svc_session=session", "a=b; svc_session=session;c=\"d\"", "x; svc_session=session"]
    {
        assert_eq!(look(&server, &format!("Cookie: {cookie}\r\n")).await.0, 200, "{cookie}");
    }
    #[rustfmt::skip]
    let refused = [
        ("Cookie: svc_session=other\r\n",                          401, "unauthenticated"),
        ("Cookie: svc_session=\r\n",                               401, "unauthenticated"),
        ("Cookie: __Host-svc_session=session\r\n",                 401, "unauthenticated"),
        ("Cookie: xsvc_session=session\r\n",                       401, "unauthenticated"),
        ("Cookie: svc_session=down\r\n",                           503, "service_unavailable"),
        ("Cookie: svc_session=session; svc_session=session\r\n",   400, "validation_failed"),
        ("Cookie: svc_session=session\r\nCookie: svc_session=a\r\n", 400, "validation_failed"),
    ];
    for (headers, status, code) in refused {
        assert_eq!(look(&server, headers).await, (status, code.to_owned()), "{headers}");
    }
}

#[tokio::test]
async fn a_key_and_a_session_in_one_request_are_refused_whichever_would_do() {
    let server = start(quick()).await;
    for bearer in ["Bearer svc_live_org", "Bearer wrong", "bearer", "Bearer  ", "BEARER x"] {
        let both = format!("Authorization: {bearer}\r\nCookie: svc_session=session\r\n");
        let refused = (400, "validation_failed".to_owned());
        assert_eq!(look(&server, &both).await, refused, "{bearer}");
    }
    let other = "Authorization: Bearer svc_live_org\r\nCookie: svc_pre=a; theme=dark\r\n";
    assert_eq!(look(&server, other).await.0, 200);
}

#[tokio::test]
async fn a_sessions_change_shows_that_a_page_of_this_site_asked() {
    let server = start(quick()).await;
    let csrf = "Service-CSRF: csrf of session\r\n";
    let cookie = "Cookie: svc_session=session\r\n";
    let with = async |more: &str| change(&server, &format!("{cookie}{more}")).await;
    assert_eq!(with(&format!("{OWN}{csrf}")).await.0, 200);
    assert_eq!(with(&format!("Origin: http://test\r\n{csrf}")).await.0, 200);
    #[rustfmt::skip]
    let refused = [
        (OWN.to_owned(),                                                   "csrf_failed",    "Service-CSRF"),
        (format!("{OWN}Service-CSRF: csrf of other\r\n"),                  "csrf_failed",    "Service-CSRF"),
        (format!("{OWN}Service-CSRF: \r\n"),                               "csrf_failed",    "Service-CSRF"),
        (format!("{OWN}{csrf}{csrf}"),                                     "csrf_failed",    "Service-CSRF"),
        (csrf.to_owned(),                                                  "origin_refused", "Origin"),
        (format!("Origin: null\r\n{csrf}"),                                "origin_refused", "Origin"),
        (format!("Origin: http://test.evil\r\n{csrf}"),                    "origin_refused", "Origin"),
        (format!("Origin: https://test\r\n{csrf}"),                        "origin_refused", "Origin"),
        (format!("Origin: http://test:81\r\n{csrf}"),                      "origin_refused", "Origin"),
        (format!("Origin: http://test\r\nOrigin: http://test\r\n{csrf}"),  "origin_refused", "Origin"),
        (format!("Origin: http://test\r\nSec-Fetch-Site: cross-site\r\n{csrf}"), "origin_refused", "Sec-Fetch-Site"),
        (format!("Origin: http://test\r\nSec-Fetch-Site: same-site\r\n{csrf}"),  "origin_refused", "Sec-Fetch-Site"),
        (format!("Origin: http://test\r\nSec-Fetch-Site: none\r\n{csrf}"),       "origin_refused", "Sec-Fetch-Site"),
    ];
    for (headers, code, param) in refused {
        assert_eq!(with(&headers).await, (403, code.to_owned(), param.to_owned()), "{headers}");
    }
    // Of a token that opens nothing the page knows the word as well.
    let ended = format!("Cookie: svc_session=ended\r\n{OWN}Service-CSRF: csrf of ended\r\n");
    assert_eq!(change(&server, &ended).await.0, 401);
}

#[tokio::test]
async fn a_keys_change_needs_nothing_of_a_browser() {
    let server = start(quick()).await;
    let key = "Authorization: Bearer svc_live_org\r\n";
    assert_eq!(change(&server, key).await.0, 200);
    let other = format!("{key}Origin: https://elsewhere.example\r\nSec-Fetch-Site: cross-site\r\n");
    assert_eq!(change(&server, &other).await.0, 200);
}

#[tokio::test]
async fn a_sessions_change_in_another_form_than_json_is_refused() {
    let server = start(quick()).await;
    for form in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"] {
        let request = format!(
            "POST /v1/settings HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {form}\r\n\
             Cookie: svc_session=session\r\n{OWN}Service-CSRF: csrf of session\r\n\
             Content-Length: 2\r\n\r\n{{}}"
        );
        assert_eq!(parsed(&exchange(server.address, request).await).0, 415, "{form}");
    }
}
