-- When a webhook endpoint is judged, and what a claim of its lane may still write.
--
-- An endpoint is disabled if every attempt failed for long enough and two events failed several times
-- each: the places of the first two are kept here. `opened` is the token of the last claim before the
-- lane was opened; such a claim moves the lane no more. An older instance writes none of them and judges
-- by time alone.

alter table webhook_lane
    add column opened bigint,
    add column failed_event bigint,
    add column failed_other_event bigint;
