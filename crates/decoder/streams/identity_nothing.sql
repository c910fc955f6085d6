-- A table without a key: new rows are told, and nobody can change them any more.
create table notes (label text);
-- Recorded from here on.
insert into notes values ('one');
do $$
begin
    update notes set label = 'uno';
exception when object_not_in_prerequisite_state then
    insert into notes values ('refused');
end
$$;
