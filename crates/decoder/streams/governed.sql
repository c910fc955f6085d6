-- A governed write as the service makes it, with the functions of its own setup script, and what
-- others can make of what they see: `mark` signs as the service does, in canonical JSON.
create extension pgcrypto;
create table items (id integer primary key, label text);
alter table items replica identity full;
create function mark(
    kind text, act text, nonce text, rd text default null, sys text default null,
    con text default 'con_01h2xcejqtf2nbrexx3vqjhp41', xid text default pg_current_xact_id()::text,
    key bytea default decode(repeat('07', 32), 'hex')
) returns text language plpgsql as $$
declare
    kid constant text := encode(substr(hmac('service.marker.key-id.v1', key, 'sha256'), 1, 8), 'hex');
    system constant text := coalesce(sys, (select system_identifier::text from pg_control_system()));
    head constant text := format(
        '{"act":%s,"att":1,"con":"%s","kid":"%s","kind":"%s",', coalesce('"' || act || '"', 'null'),
        con, kid, kind
    );
    tail constant text := format(
        '"n":"%s","rd":%s,"sys":"%s","v":1,"xid":"%s"}', nonce,
        coalesce('"' || rd || '"', 'null'), system, xid
    );
begin
    return head || format('"mac":"%s",', encode(hmac((head || tail)::bytea, key, 'sha256'), 'hex')) || tail;
end
$$;
create function began(act text, nonce text, marker text, ledger_nonce text default null)
returns void language sql as $$
    select service.begin_action(
        act, 'org_01h2xcejqtf2nbrexx3vqjhp41', 'shop.rename',
        'sha256:' || repeat('ab', 32), coalesce(ledger_nonce, nonce),
        substring(marker from '"mac":"([0-9a-f]*)"'), marker
    );
$$;
-- Recorded from here on.
-- 0: the service's own write.
begin;
select began(a, n, mark('act', a, n, 'sha256:' || repeat('ab', 32)))
from (values ('act_01h2xcejqtf2nbrexx3vqjhp01', repeat('01', 16))) v (a, n);
insert into items values (1, 'one');
commit;
-- 1: a tombstone.
select service.void_action(
    a, 'org_01h2xcejqtf2nbrexx3vqjhp41', n, substring(m from '"mac":"([0-9a-f]*)"'), m
) from (
    select a, n, mark('void', a, n)
    from (values ('act_01h2xcejqtf2nbrexx3vqjhp02', repeat('02', 16))) v (a, n)
) w (a, n, m);
-- 2: somebody past the service.
update items set label = 'uno';
-- 3: a beat.
begin;
select pg_logical_emit_message(true, 'service', mark('hb', null, repeat('03', 16)));
update service.heartbeat set beat = beat + 1;
commit;
-- 4: no marker at all.
select pg_logical_emit_message(true, 'service', 'let me in');
-- 5: another key.
select pg_logical_emit_message(true, 'service', mark('act', 'act_01h2xcejqtf2nbrexx3vqjhp05', repeat('05', 16), key => '\x01'));
-- 6: another transaction's marker.
select pg_logical_emit_message(true, 'service', mark('act', 'act_01h2xcejqtf2nbrexx3vqjhp06', repeat('06', 16), xid => '3'));
-- 7: another cluster's marker.
select pg_logical_emit_message(true, 'service', mark('act', 'act_01h2xcejqtf2nbrexx3vqjhp07', repeat('07', 16), sys => '1'));
-- 8: another connector's marker.
select pg_logical_emit_message(true, 'service', mark('act', 'act_01h2xcejqtf2nbrexx3vqjhp08', repeat('08', 16), con => 'con_01h2xcejqtf2nbrexx3vqjhp42'));
-- 9: a signature that is not the key's.
select pg_logical_emit_message(true, 'service', regexp_replace(mark('act', 'act_01h2xcejqtf2nbrexx3vqjhp09', repeat('09', 16)), '"mac":"[0-9a-f]*"', '"mac":"' || repeat('00', 32) || '"'));
-- 10: a true marker without a row.
select pg_logical_emit_message(true, 'service', mark('act', 'act_01h2xcejqtf2nbrexx3vqjhp10', repeat('10', 16)));
-- 11: a row without a marker.
insert into service.ledger select 'act_01h2xcejqtf2nbrexx3vqjhp11', 1, 'act', 'org_01h2xcejqtf2nbrexx3vqjhp41', null, null, pg_current_xact_id(), 'n', 'm', 'me', now();
-- 12: a row that says something else.
select began(a, n, mark('act', a, n, 'sha256:' || repeat('ab', 32)), 'other')
from (values ('act_01h2xcejqtf2nbrexx3vqjhp12', repeat('12', 16))) v (a, n);
-- 13: two actions in one transaction.
begin;
select began(a, n, mark('act', a, n, 'sha256:' || repeat('ab', 32)))
from (values ('act_01h2xcejqtf2nbrexx3vqjhp13', repeat('13', 16))) v (a, n);
select began(a, n, mark('act', a, n, 'sha256:' || repeat('ab', 32)))
from (values ('act_01h2xcejqtf2nbrexx3vqjhp14', repeat('14', 16))) v (a, n);
commit;
-- 14: ours, with somebody's message in it.
begin;
select began(a, n, mark('act', a, n, 'sha256:' || repeat('ab', 32)))
from (values ('act_01h2xcejqtf2nbrexx3vqjhp15', repeat('15', 16))) v (a, n);
select pg_logical_emit_message(true, 'service', 'me too');
commit;
-- 15, 16, 17: the ledger is changed.
update service.ledger set tool = 'shop.other' where action_id = 'act_01h2xcejqtf2nbrexx3vqjhp01';
delete from service.ledger where action_id = 'act_01h2xcejqtf2nbrexx3vqjhp02';
truncate service.ledger;
-- 18: the service puts it in order.
begin;
select pg_logical_emit_message(true, 'service', mark('maint', null, repeat('18', 16)));
truncate service.ledger;
commit;
-- 19: more messages than are kept, ours the first.
begin;
select began(a, n, mark('act', a, n, 'sha256:' || repeat('ab', 32)))
from (values ('act_01h2xcejqtf2nbrexx3vqjhp19', repeat('19', 16))) v (a, n);
select pg_logical_emit_message(true, 'service', 'noise ' || i) from generate_series(1, 30) i;
commit;
