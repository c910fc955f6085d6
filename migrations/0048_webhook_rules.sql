-- When a webhook endpoint is judged, and what a claim of its lane may still write.
--
-- An endpoint is disabled if every attempt failed for long enough and two events failed several times
-- each: their places are kept here. `opened_token` is the token of the last claim before the lane was
-- opened; such a claim has ended. An older instance writes none of these columns and judges by time
-- alone.

alter table webhook_lane
    add column opened_token bigint,
    add column failed_event bigint,
    add column failed_other_event bigint;
