-- Names with quotes, spaces and letters of other scripts; a table without columns.
create schema "Größe ""x""";
create table "Größe ""x"""."das Ding" ("ключ" integer primary key);
create table empty ();
-- Recorded from here on.
insert into "Größe ""x"""."das Ding" values (1);
insert into empty default values;
