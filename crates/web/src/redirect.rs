//! The answer to a form: the page that its browser goes on to.

use http::{HeaderValue, StatusCode, header::LOCATION};

use crate::{error::ApiError, reply::Reply};

/// The answer that sends a browser on to this page; a 500 where the path is no value of a header.
pub fn see_other(page: &str) -> Result<Reply, ApiError> {
    let page = HeaderValue::try_from(page).map_err(|_| ApiError::internal())?;
    Ok(Reply::empty(StatusCode::SEE_OTHER).with(LOCATION, page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_on_to_a_page_and_never_into_another_header() {
        let reply = see_other("/app/orgs?next=%2Fapp").unwrap();
        assert_eq!(reply.status, StatusCode::SEE_OTHER);
        assert_eq!(reply.headers[LOCATION], "/app/orgs?next=%2Fapp");
        assert_eq!(reply.headers.len(), 1);
        assert_eq!(see_other("/app\r\nset-cookie: a=b").unwrap_err().status().as_u16(), 500);
    }
}
