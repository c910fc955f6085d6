//! The error codes that the kit itself raises, whatever is served with it.

#[rustfmt::skip]
crate::codes! {
    VALIDATION_FAILED      "validation_failed"      [400, 422] InvalidRequest "The request is malformed." "Read `message` and correct what `param` names. A malformed `Service-` header is 422, everything else 400. Nothing was recorded."
    VERSION_UNSUPPORTED    "version_unsupported"    [400] InvalidRequest "The `Service-Version` header names a version that this server does not serve." "Leave the header out, or send one of the versions that `GET /v1/version` lists."
    UNAUTHENTICATED        "unauthenticated"        [401] Authentication "The API key or the session is missing, not valid, revoked or expired." "Send `Authorization: Bearer` and a live key, or sign in again. Nothing was recorded."
    INSUFFICIENT_SCOPE     "insufficient_scope"     [403] Permission "The key may not do this." "Use a key that has the scope named in `WWW-Authenticate`, or sign in if `message` says so."
    ORIGIN_REFUSED         "origin_refused"         [403] Permission "A change by a session did not come from a page of this site." "Send `Origin` with the public address of this server. Browsers do this automatically."
    CSRF_FAILED            "csrf_failed"            [403] Permission "A change by a session has no valid CSRF token." "Read `csrf` of `GET /v1/session` and send it as `Service-CSRF`. It changes with each sign-in and each choice of an org."
    NOT_FOUND              "not_found"              [404] InvalidRequest "The object does not exist in this org." "Check the id. Another org's id looks the same as one that does not exist."
    ROUTE_UNKNOWN          "route_unknown"          [404] InvalidRequest "This server has nothing at this path." "Check the path against the API description at `/api/openapi.yaml`; paths match exactly."
    METHOD_NOT_ALLOWED     "method_not_allowed"     [405] InvalidRequest "The path does not accept this method." "Use one of the methods in the `Allow` header."
    BODY_TOO_LARGE         "body_too_large"         [413] InvalidRequest "The body is larger than this route accepts." "Send a smaller body; `docs/limits.md` lists the limits."
    URI_TOO_LONG           "uri_too_long"           [414] InvalidRequest "The address is too long." "Shorten the query."
    MEDIA_TYPE_UNSUPPORTED "media_type_unsupported" [415] InvalidRequest "The body is not in a format that this route accepts." "Send `Content-Type: application/json` and no `Content-Encoding`."
    HEADERS_TOO_LARGE      "headers_too_large"      [431] InvalidRequest "The request has too many headers, or its headers are too long." "Send fewer and shorter headers."
    RATE_LIMITED           "rate_limited"           [429] RateLimit "Too many requests of this kind are open or were sent recently." "Close some of them, or wait `Retry-After` seconds."
    INTERNAL_ERROR         "internal_error"         [500] Api "The service failed." "Try again; if it persists, give the operator the `request_id`."
    SERVICE_UNAVAILABLE    "service_unavailable"    [503] Api "The service is temporarily unavailable." "Try again after `Retry-After` seconds."
}
