//! Keeps the lease of a log as long as something is under way that may outlast it.

use std::{pin::pin, sync::Arc, time::Duration};

use evidence::{EvidenceStore, Held, Of};
use model::Clock as _;
use tokio::time::timeout;

use super::Following;
use crate::clock::SystemClock;

/// The lease of one log, renewed in this instance's name.
pub(super) struct Renewal {
    store: Arc<dyn EvidenceStore>,
    of: Of,
    holder: String,
    lease: Duration,
}

impl Renewal {
    pub(super) fn new(with: &Following, of: Of) -> Self {
        let (store, holder) = (Arc::clone(&with.logs.store), with.instance.clone());
        Self { store, of, holder, lease: with.settings.lease }
    }

    /// What this comes to, however long that takes. Nothing where another instance has the lease by then:
    /// what was under way is given up.
    pub(super) async fn kept_for<T>(&self, under_way: impl Future<Output = T>) -> Option<T> {
        let mut under_way = pin!(under_way);
        loop {
            match timeout(self.lease / 3, under_way.as_mut()).await {
                Ok(done) => return Some(done),
                Err(_) if self.is_lost().await => return None,
                Err(_) => {}
            }
        }
    }

    /// Renews the lease. Where the store cannot be asked, what is under way goes on: it keeps nothing but
    /// under the token that it began with.
    async fn is_lost(&self) -> bool {
        let now = SystemClock.now();
        let held = self.store.hold_log(self.of, &self.holder, (now, now + self.lease)).await;
        matches!(held, Ok(Held::No { .. }))
    }
}

#[cfg(test)]
mod tests {
    use store_memory::MemoryStore;
    use tokio::time::sleep;

    use super::*;

    #[tokio::test]
    async fn a_read_that_takes_longer_than_the_lease_keeps_it_and_ends_where_it_is_lost() {
        let store: Arc<dyn EvidenceStore> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let of = Of {
            org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
            connector: "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        };
        let lease = Duration::from_millis(600);
        let hold = async |holder: &str| {
            let now = SystemClock.now();
            store.hold_log(of, holder, (now, now + lease)).await.unwrap()
        };
        let one = Renewal { store: Arc::clone(&store), of, holder: "one".to_owned(), lease };
        let Held::Yes(first, _) = hold("one").await else { panic!("nobody has it") };
        let beside = async {
            sleep(lease * 2).await;
            hold("two").await
        };
        assert!(matches!(one.kept_for(beside).await, Some(Held::No { .. })));
        let Held::Yes(again, _) = hold("one").await else { panic!("it was lost") };
        assert_eq!(again.token, first.token);

        sleep(lease * 2).await;
        assert!(matches!(hold("two").await, Held::Yes(..)));
        assert_eq!(one.kept_for(sleep(lease * 10)).await, None);
    }
}
