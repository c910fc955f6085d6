-- Everything since the slot was made, one message a line, as protocol version 1 has it.
select '# PostgreSQL ' || split_part(version(), ' ', 2) || ', system ' || system_identifier from pg_control_system();
select encode(data, 'hex')
from pg_logical_slot_peek_binary_changes(
    'recorded', null, null,
    'proto_version', '1', 'publication_names', 'recorded', 'messages', 'true'
);
