//! What is posted to the systems of customers: how endpoints and deliveries stand.

list!(/// How a webhook endpoint stands.
WebhookStatus {
    /// Events are posted to it.
    Enabled = "enabled",
    /// Events are posted to it, and the last one was not taken.
    Failing = "failing",
    /// Nothing is posted to it.
    Disabled = "disabled",
});
list!(/// How the delivery of an event to an endpoint stands.
DeliveryStatus {
    /// It is to be posted for the first time.
    Pending = "pending",
    /// It was not taken, and will be posted again.
    Retrying = "retrying",
    /// It was taken.
    Delivered = "delivered",
    /// It was posted as often as it may be, and never taken.
    Dead = "dead",
    /// It is posted no more: the endpoint was disabled or deleted, or the event is kept no longer.
    Dropped = "dropped",
});
list!(/// Why a delivery was not taken.
DeliveryError {
    /// The answer was neither a success nor a redirect.
    HttpStatus = "http_status",
    /// The answer led elsewhere, which nobody follows.
    Redirect = "redirect",
    /// There was no whole answer in time.
    Timeout = "timeout",
    /// The connection ended before the answer did, or the answer was none of HTTP.
    Connection = "connection",
    /// TLS did not come about.
    Tls = "tls",
    /// Nobody answered at the address.
    Unreachable = "unreachable",
    /// The address may not be reached.
    EgressRefused = "egress_refused",
});
