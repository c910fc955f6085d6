-- What a trigger writes looks like any other change.
create table items (id integer primary key, label text);
create table audit (id integer primary key, what text);
alter table items replica identity full;
alter table audit replica identity full;
create function note() returns trigger language plpgsql as
    'begin insert into audit values (new.id, new.label); return new; end';
create trigger note after insert on items for each row execute function note();
-- Recorded from here on.
insert into items values (1, 'one');
