-- The definition of an edge's tool that was last told to differ from the accepted one, so that its
-- change is told once and not with every call.
--
-- An older instance neither reads nor writes it; what it accepts meanwhile may be told once more.

alter table accepted_tool add column told bytea;
