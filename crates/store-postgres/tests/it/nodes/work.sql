-- Gives each org something that every question to all orgs finds.
update org set record = jsonb_set(record::jsonb, '{voids}', '"2026-01-01T00:00:00.000Z"')::text;
insert into connector (org_id, id, name, created_at, record)
select org_id, gen_random_uuid(), 'x', now(), '{"credential": {"password": "AAAA"}}' from org;
insert into kept_report (org_id, action_id, record, connector_id, awaited_since)
select org_id, gen_random_uuid(), '{}', gen_random_uuid(), date_trunc('milliseconds', now()) from org;
insert into log_reader (org_id, connector_id, holder, token, lease_until)
select org_id, gen_random_uuid(), 'x', 1, now() from org;
insert into webhook (org_id, id, created_at, record)
select org_id, gen_random_uuid(), now(), '{}' from org, generate_series(1, 2);
insert into webhook_lane (org_id, webhook_id, is_open, seq, due_at, token)
select org_id, id, row_number() over (partition by org_id) = 1, 0, now(), 0 from webhook;
insert into past_tile (org_id, index, part, digests, issued_at, events)
select org_id, 0, '2020_01', decode(repeat('00', 8192), 'hex'), now(), 0 from org;
