//! The statements of the list: for each driver one that lists, one that counts, and one that asks how
//! rare its values are.
//!
//! All are put together from the same few parts. `$1` is the org, `$2` and `$3` bound the ids, `$4`
//! is the number of rows; of a list, `$5` to `$13` are the filters, null where nothing is asked,
//! and `$14` and `$15` the driver's values. The plans are made once and for any values, so what
//! leads to an index stands alone, and what may be null only looks at rows.
//!
//! By what stands from the beginning only sealed actions are found through an index of their own; the
//! few that are not sealed are all looked at, by their state.

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

/// The newest of those that are not sealed and meet a condition.
macro_rules! unsealed {
    ($meets:expr, $most:expr) => {
        concat!(
            "select open.id from unnest(array['cancelled', 'executing', 'pending_approval',
                'witnessing']) as stage (name) cross join lateral (",
            newest!(concat!("state = stage.name and state <> 'sealed' and ", $meets), $most),
            ") as open"
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

/// How many of the newest of these ids there are of each class, by parts of `$16` milliseconds.
macro_rules! counts {
    ($ids:expr) => {
        concat!(
            "select floor(extract(epoch from called.created_at) * 1000)::bigint / $16::bigint as part,
                called.status, called.outcome, called.verdict, called.level, '' as unit,
                count(*) as count, '0' as cost
            from (select found.id from (",
            $ids,
            ") as found order by found.id desc limit $4) as shown
            cross join lateral (
                select created_at, status, outcome, coalesce(verdict, '') as verdict,
                    coalesce(level, '') as level
                from action where org_id = $1 and id = shown.id offset 0
            ) as called
            group by 1, 2, 3, 4, 5"
        )
    };
}

/// The ids that a driver's values lead to.
macro_rules! ids {
    ($meets:expr) => {
        led!("$14::text[], $15::text[]", concat!($meets, passes!()), "$4")
    };
}

/// The ids by what stands from the beginning.
macro_rules! ids_of {
    ($driver:ident) => {
        concat!(
            led!($driver!(values "$14", "$15"), concat!($driver!(sealed), passes!()), "$4"),
            " union all ",
            unsealed!(concat!($driver!(among "$14"), passes!()), "$4")
        )
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

macro_rules! probed {
    ($meets:expr) => {
        led!("$4::text[], $5::text[]", $meets, "200")
    };
}

macro_rules! probed_by {
    ($driver:ident) => {
        concat!(
            led!($driver!(values "$4", "$5"), $driver!(sealed), "200"),
            " union all ",
            unsealed!($driver!(among "$4"), "200")
        )
    };
}

/// The statements of one driver.
pub(super) struct Statements {
    /// Lists what it leads to.
    pub(super) list: &'static str,
    /// Counts that.
    pub(super) count: &'static str,
    /// Asks how rare it is.
    pub(super) probe: &'static str,
}

macro_rules! statements {
    ($ids:expr, $probed:expr) => {
        Statements { list: records!($ids), count: counts!($ids), probe: probe!($probed) }
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
    (values $list:literal, $other:literal) => {
        concat!($list, "::text[]::uuid[], ", $other, "::text[]")
    };
    (sealed) => {
        "agent_id = wanted.value and state = 'sealed'"
    };
    (among $list:literal) => {
        concat!("agent_id = any(", $list, "::text[]::uuid[])")
    };
}
macro_rules! tool {
    (values $list:literal, $other:literal) => {
        concat!($list, "::text[], ", $other, "::text[]")
    };
    (sealed) => {
        "tool = wanted.value and state = 'sealed'"
    };
    (among $list:literal) => {
        concat!("tool = any(", $list, "::text[])")
    };
}
macro_rules! person {
    (values $list:literal, $other:literal) => {
        concat!($list, "::text[], ", $other, "::text[]")
    };
    (sealed) => {
        "on_behalf_of = wanted.value and state = 'sealed'"
    };
    (among $list:literal) => {
        concat!("on_behalf_of = any(", $list, "::text[])")
    };
}
macro_rules! outcome {
    (values $list:literal, $other:literal) => {
        concat!($list, "::text[], ", $other, "::text[]")
    };
    (sealed) => {
        "outcome = wanted.value and state = 'sealed'"
    };
    (among $list:literal) => {
        concat!("outcome = any(", $list, "::text[])")
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

pub(super) const ALL: Statements = statements!(ids!("true"), probed!("true"));
pub(super) const OF_AGENT: Statements = statements!(ids_of!(agent), probed_by!(agent));
pub(super) const OF_TOOLS: Statements = statements!(ids_of!(tool), probed_by!(tool));
pub(super) const ON_BEHALF_OF: Statements = statements!(ids_of!(person), probed_by!(person));
pub(super) const DECIDED: Statements = statements!(ids_of!(outcome), probed_by!(outcome));
pub(super) const UNSEALED: Statements = statements!(ids!(state!()), probed!(state!()));
pub(super) const WITNESSED: Statements = statements!(ids!(verdict!()), probed!(verdict!()));
pub(super) const SHADOW_DIFFERS: Statements = statements!(ids!(shadow!()), probed!(shadow!()));
pub(super) const NAMED: Statements = statements!(
    concat!(
        led!(tool!(values "$14", "$15"), concat!(tool!(sealed), passes!()), "$4"),
        " union ",
        unsealed!(concat!(tool!(among "$14"), passes!()), "$4"),
        " union ",
        led!("$15::text[], null::text[]", concat!(error!(), passes!()), "$4")
    ),
    concat!(
        led!(tool!(values "$4", "$5"), tool!(sealed), "200"),
        " union ",
        unsealed!(tool!(among "$4"), "200"),
        " union ",
        led!("$5::text[], null::text[]", error!(), "200")
    )
);
