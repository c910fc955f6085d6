-- Tables that only tests have a use for.

-- One row for each run of `lab.note`, so that a call that ran twice leaves two.
create table lab_notes (
    id bigint generated always as identity primary key,
    mark text not null check (mark <> 'refused by a constraint')
);

-- One row of every type that crosses, each with a value that a careless crossing would lose.
create table lab_values (
    id bigint primary key,
    amount numeric not null,
    moment timestamptz not null,
    document jsonb not null,
    numbers bigint[] not null,
    texts text[] not null,
    matrix integer[] not null,
    bytes bytea not null,
    ratio float8 not null,
    day date not null,
    tag uuid not null,
    nothing text
);

insert into lab_values values (
    9007199254740993,
    123456789012345678901234567890.123456789012345678900,
    '2024-02-29 23:59:59.123456+05:30',
    '{"big": 12345678901234567890, "precise": 0.1000000000000000055, "deep": [1, [2, null]], "text": "\u00e9 \" \\"}',
    '{-9223372036854775808, NULL, 9223372036854775807}',
    '{"plain", "with \"quotes\"", "", NULL, "NULL"}',
    '{{1, 2}, {3, 4}}',
    '\x00ff10',
    0.1,
    '2024-02-29',
    '00112233-4455-6677-8899-aabbccddeeff',
    null
);
