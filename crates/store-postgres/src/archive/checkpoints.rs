//! Thins kept checkpoints. Every proof is made of the tree, which stays whole, so no proof needs the
//! rows that go: a copy that somebody kept of one of them is proved as before.

use model::OrgId;

use super::{ArchiveError, Earnest, begin, refused};
use crate::Settings;

/// What became of the kept checkpoints of one org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thinned {
    /// The org.
    pub org: OrgId,
    /// How many there were.
    pub had: u64,
    /// How many of them went, or would go.
    pub gone: u64,
}

/// Checkpoints that are spare: of those older than a day all but the last of each hour, of those
/// older than thirty days all but the last of each day. The first and the last of each log stay,
/// and what a check of the chain was asked to hold the log against. An hour or a day is thinned once
/// all of it is that old, so that another run finds nothing new in it.
macro_rules! spare {
    () => {
        "select size from (
            select size, note, span,
                row_number() over (partition by size >> 40, span order by size desc) as newer,
                row_number() over (partition by size >> 40 order by size) as older
            from (
                select size, note, case
                    when signed_at < date_trunc('day', now() - interval '30 days', 'UTC')
                        then date_trunc('day', signed_at, 'UTC')
                    when signed_at < date_trunc('hour', now() - interval '1 day', 'UTC')
                        then date_trunc('hour', signed_at, 'UTC') end as span
                from checkpoint where org_id = $1
            ) as kept
        ) as kept
        where span is not null and newer > 1 and older > 1 and not exists (
            select from chain_check
            where org_id = $1 and (chain_check.record::jsonb ->> 'checkpoint') = kept.note)"
    };
}

const COUNT: &str = concat!(
    "select (select count(*) from checkpoint where org_id = $1) as had, count(*) as gone from (",
    spare!(),
    ") as spare"
);
const THIN: &str = concat!(
    "delete from checkpoint where org_id = $1 and size = any(array(",
    spare!(),
    " order by size limit 1000))"
);

/// Removes the checkpoints that are spare, in small transactions, and returns what went.
pub async fn thin_checkpoints(
    settings: &Settings,
    named: Option<OrgId>,
    earnest: Earnest,
) -> Result<Vec<Thinned>, ArchiveError> {
    let attempt = "thin the checkpoints";
    let (client, orgs) = begin(settings, named).await?;
    let mut thinned = Vec::with_capacity(orgs.len());
    for org in orgs {
        let read = async {
            let row = client.query_one(COUNT, &[&org]).await?;
            let count = |name| row.try_get(name).map(|count: i64| count.unsigned_abs());
            let (had, mut gone) = (count("had")?, count("gone")?);
            if earnest == Earnest::Do {
                gone = 0;
                loop {
                    match client.execute(THIN, &[&org]).await? {
                        0 => break,
                        some => gone += some,
                    }
                }
            }
            Ok::<_, tokio_postgres::Error>(Thinned { org: OrgId::from_uuid(org), had, gone })
        };
        thinned.push(read.await.map_err(|error| refused(attempt, error))?);
    }
    Ok(thinned)
}
