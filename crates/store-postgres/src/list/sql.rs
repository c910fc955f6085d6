//! The statements of the list: for each driver one that lists, one that counts, and one that asks how
//! rare its values are.
//!
//! All are put together from the same few parts. `$1` is the org, `$2` and `$3` bound the ids, `$4`
//! is the number of rows; of a list, `$5` to `$13` are the filters, null where nothing is asked,
//! and `$14` and `$15` the driver's values. The plans are made once and for any values, so what
//! leads to an index stands alone, and what may be null only looks at rows.

use std::sync::LazyLock;

use crate::unsealed::unsealed_states;

/// The number of actions at which a probe ends.
pub(super) const PROBED: i64 = 200;

/// The condition of every filter on a row.
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

/// The newest hundred actions, as far as the filters let them through.
pub(super) const NEWEST: &str = concat!(
    "select record from (select * from action where org_id = $1 and id >= $2 and id < $3
     order by id desc limit 100) as action where true",
    passes!(),
    " order by id desc limit $4"
);

/// How a driver's values lead to ids of actions.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// By an index of what meets this condition on a pair of the values, `wanted.value` and
    /// `wanted.other`.
    Condition(&'static str),
    /// By the index of this column, which has sealed actions alone; the few others are all looked at,
    /// by their state. The values are cast to this type.
    Column(&'static str, &'static str),
    /// By the index of error codes; the codes are the second values.
    ErrorCode,
}

/// The statements of one driver.
pub(super) struct Statements {
    /// Lists what it leads to.
    pub(super) list: String,
    /// Counts that.
    pub(super) count: String,
    /// Asks how rare it is.
    pub(super) probe: String,
}

type Made = LazyLock<Statements>;

pub(super) static ALL: Made = Made::new(|| of(&[Way::Condition("true")]));
pub(super) static OF_AGENT: Made = Made::new(|| of(&[Way::Column("agent_id", "::uuid[]")]));
pub(super) static OF_TOOLS: Made = Made::new(|| of(&[Way::Column("tool", "")]));
pub(super) static ON_BEHALF_OF: Made = Made::new(|| of(&[Way::Column("on_behalf_of", "")]));
pub(super) static DECIDED: Made = Made::new(|| of(&[Way::Column("outcome", "")]));
pub(super) static UNSEALED: Made =
    Made::new(|| of(&[Way::Condition("state = wanted.value and state <> 'sealed'")]));
pub(super) static WITNESSED: Made =
    Made::new(|| of(&[Way::Condition("verdict = wanted.value and level = wanted.other")]));
pub(super) static SHADOW_DIFFERS: Made =
    Made::new(|| of(&[Way::Condition("shadow_outcome <> outcome")]));
pub(super) static NAMED: Made = Made::new(|| of(&[Way::Column("tool", ""), Way::ErrorCode]));

/// The statements that take these ways.
fn of(ways: &[Way]) -> Statements {
    let found = ids(ways, &Part { values: ["$14", "$15"], filters: passes!(), most: "$4" });
    let probed = ids(ways, &Part { values: ["$4", "$5"], filters: "", most: &PROBED.to_string() });
    Statements {
        list: format!(
            "select called.record from (select found.id from ({found}) as found
                order by found.id desc limit $4) as shown
            cross join lateral (
                select record from action where org_id = $1 and id = shown.id offset 0
            ) as called
            order by shown.id desc"
        ),
        // By parts of `$16` milliseconds.
        count: format!(
            "select floor(extract(epoch from called.created_at) * 1000)::bigint / $16::bigint as part,
                called.status, called.outcome, called.verdict, called.level, '' as unit,
                count(*) as count, '0' as cost
            from (select found.id from ({found}) as found order by found.id desc limit $4) as shown
            cross join lateral (
                select created_at, status, outcome, coalesce(verdict, '') as verdict,
                    coalesce(level, '') as level
                from action where org_id = $1 and id = shown.id offset 0
            ) as called
            group by 1, 2, 3, 4, 5"
        ),
        probe: format!(
            "select found.id as oldest, count(*) over () as count from (
                select probed.id from ({probed}) as probed order by probed.id desc limit {PROBED}
            ) as found order by found.id limit 1"
        ),
    }
}

/// A statement's names for the driver's values, its filters, and the most rows of each part.
struct Part<'a> {
    values: [&'static str; 2],
    filters: &'static str,
    most: &'a str,
}

/// The ids that these ways lead to.
fn ids(ways: &[Way], part: &Part<'_>) -> String {
    let parts: Vec<String> = ways.iter().flat_map(|way| part.ids(*way)).collect();
    // Two ways may lead to one action.
    let union = if ways.len() > 1 { " union " } else { " union all " };
    parts.join(union)
}

impl Part<'_> {
    fn ids(&self, way: Way) -> Vec<String> {
        let [values, others] = self.values;
        let texts = format!("{values}::text[], {others}::text[]");
        match way {
            Way::Condition(meets) => vec![self.led(&texts, meets)],
            Way::ErrorCode => {
                vec![
                    self.led(
                        &format!("{others}::text[], null::text[]"),
                        "error_code = wanted.value",
                    ),
                ]
            }
            Way::Column(column, cast) => vec![
                self.led(
                    &format!("{values}::text[]{cast}, {others}::text[]"),
                    &format!("{column} = wanted.value and state = 'sealed'"),
                ),
                self.unsealed(&format!("{column} = any({values}::text[]{cast})")),
            ],
        }
    }

    /// For each of the values, the newest actions that it leads to.
    fn led(&self, values: &str, meets: &str) -> String {
        let newest = self.newest(meets);
        format!(
            "select led.id from unnest({values}) as wanted (value, other)
            cross join lateral ({newest}) as led"
        )
    }

    /// The newest actions of each state but `sealed`.
    fn unsealed(&self, meets: &str) -> String {
        let newest = self.newest(&format!("state = stage.name and state <> 'sealed' and {meets}"));
        let states = unsealed_states!();
        format!("select open.id from {states} cross join lateral ({newest}) as open")
    }

    /// The newest actions of the org that meet a condition.
    fn newest(&self, meets: &str) -> String {
        let Self { filters, most, .. } = self;
        format!(
            "select id from action where org_id = $1 and id >= $2 and id < $3
            and {meets}{filters} order by id desc limit {most}"
        )
    }
}
