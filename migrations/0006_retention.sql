-- Rows that mean nothing any more are found by their time.
--
-- They come in the order of time, so a block range index finds them and costs a turn next to
-- nothing. What payloads are kept for stands in the org's record; how far they were removed, too.

create index idempotency_by_end on idempotency using brin (expires_at);
create index turn_by_time on turn using brin (at);
