//! The statements of the list: one for each driver, and one that asks how rare its values are.
//!
//! All are put together from the same few parts. `$1` is the org, `$2` and `$3` bound the ids, `$4`
//! is the number of rows; of a list, `$5` to `$13` are the filters, null where nothing is asked,
//! and `$14` and `$15` the driver's values. The plans are made once and for any values, so what
//! leads to an index stands alone, and what may be null only looks at rows.

/// How many of the newest are looked at before a driver is chosen.
macro_rules! window {
    () => {
        "100"
    };
}

/// Every filter, as a condition on a row.
macro_rules! passes {
    () => {
        " and ($5::uuid is null or agent_id = $5)
          and ($6::text is null or tool like $6)
          and ($7::text[] is null or state = any($7))
          and ($8::text[] is null or outcome = any($8))
          and ($9::text[] is null or verdict = any($9))
          and ($10::text[] is null or level = any($10))
          and ($11::text is null or on_behalf_of = $11)
          and ($12::text is null or strpos(tool, $12) > 0 or strpos(error_code, $12) > 0)
          and (not $13::boolean or shadow_outcome <> outcome)"
    };
}

/// The newest actions of the org that meet a condition.
macro_rules! newest {
    ($meets:expr, $most:expr) => {
        concat!(
            "select id from action where org_id = $1 and id >= $2 and id < $3 and ",
            $meets,
            " order by id desc limit ",
            $most
        )
    };
}

/// For each of the driver's values, the newest actions that it leads to.
macro_rules! led {
    ($values:expr, $meets:expr, $most:expr) => {
        concat!(
            "select led.id from unnest(",
            $values,
            ") as wanted (value, other) cross join lateral (",
            newest!($meets, $most),
            ") as led"
        )
    };
}

/// The records of the newest of these ids.
macro_rules! records {
    ($ids:expr) => {
        concat!(
            "select called.record from (select found.id from (",
            $ids,
            ") as found order by found.id desc limit $4) as shown
            cross join lateral (
                select record from action where org_id = $1 and id = shown.id offset 0
            ) as called
            order by shown.id desc"
        )
    };
}

macro_rules! list {
    ($meets:expr) => {
        records!(led!("$14::text[], $15::text[]", concat!($meets, passes!()), "$4"))
    };
}

macro_rules! probe {
    ($ids:expr) => {
        concat!(
            "select found.id as oldest, count(*) over () as count from (
                select probed.id from (",
            $ids,
            ") as probed order by probed.id desc limit 200
            ) as found order by found.id limit 1"
        )
    };
}

macro_rules! probe_of {
    ($meets:expr) => {
        probe!(led!("$4::text[], $5::text[]", $meets, "200"))
    };
}

/// The number of actions at which a probe ends.
pub(super) const PROBED: i64 = 200;

/// The newest few, as far as the filters let them through.
pub(super) const NEWEST: &str = concat!(
    "select record from (select * from action where org_id = $1 and id >= $2 and id < $3
     order by id desc limit ",
    window!(),
    ") as action where true",
    passes!(),
    " order by id desc limit $4"
);

macro_rules! agent {
    () => {
        "agent_id = wanted.value"
    };
}
macro_rules! tool {
    () => {
        "tool = wanted.value"
    };
}
macro_rules! person {
    () => {
        "on_behalf_of = wanted.value"
    };
}
macro_rules! outcome {
    () => {
        "outcome = wanted.value"
    };
}
macro_rules! state {
    () => {
        "state = wanted.value and state <> 'sealed'"
    };
}
macro_rules! verdict {
    () => {
        "verdict = wanted.value and level = wanted.other"
    };
}
macro_rules! error {
    () => {
        "error_code = wanted.value"
    };
}
macro_rules! shadow {
    () => {
        "shadow_outcome <> outcome"
    };
}

pub(super) const ALL: &str = list!("true");
pub(super) const OF_AGENT: &str =
    records!(led!("$14::text[]::uuid[], $15::text[]", concat!(agent!(), passes!()), "$4"));
pub(super) const OF_TOOLS: &str = list!(tool!());
pub(super) const ON_BEHALF_OF: &str = list!(person!());
pub(super) const DECIDED: &str = list!(outcome!());
pub(super) const UNSEALED: &str = list!(state!());
pub(super) const WITNESSED: &str = list!(verdict!());
pub(super) const SHADOW_DIFFERS: &str = list!(shadow!());
pub(super) const NAMED: &str = records!(concat!(
    led!("$14::text[], null::text[]", concat!(tool!(), passes!()), "$4"),
    " union ",
    led!("$15::text[], null::text[]", concat!(error!(), passes!()), "$4")
));

pub(super) const PROBE_ALL: &str = probe_of!("true");
pub(super) const PROBE_OF_AGENT: &str =
    probe!(led!("$4::text[]::uuid[], $5::text[]", agent!(), "200"));
pub(super) const PROBE_OF_TOOLS: &str = probe_of!(tool!());
pub(super) const PROBE_ON_BEHALF_OF: &str = probe_of!(person!());
pub(super) const PROBE_DECIDED: &str = probe_of!(outcome!());
pub(super) const PROBE_UNSEALED: &str = probe_of!(state!());
pub(super) const PROBE_WITNESSED: &str = probe_of!(verdict!());
pub(super) const PROBE_SHADOW_DIFFERS: &str = probe_of!(shadow!());
pub(super) const PROBE_NAMED: &str = probe!(concat!(
    led!("$4::text[], null::text[]", tool!(), "200"),
    " union ",
    led!("$5::text[], null::text[]", error!(), "200")
));
