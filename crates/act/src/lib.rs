//! One change to an org: its rows, the admin deed that seals it and the event that tells of it, in
//! one turn. It knows no use case: what changes, and what is said of it, comes from the crate that
//! asks.
//!
//! An [`Act`] says who changes something ([`By`]), why ([`Reason`]), and how it is decided: by a
//! pure function from what the turn knows to a [`Record`], which collects rows
//! ([`Record::write`]) and the deed and the event of each [`Fact`] ([`Record::seal`]). All of it is
//! one entry of the org's turn, so a change whose deed cannot be appended does not happen. Whoever
//! asked is answered once the turn is durable, as a rule with a [`Changed`].
//!
//! ```
//! use act::{Act, ActError, By, Changed, Fact, Reason, Record};
//! use deed::Subject;
//! use ledger::{Ledger, Snapshot, record::Org};
//! use model::{EventType, OrgId};
//! use serde_json::json;
//!
//! /// Gives an org another name.
//! async fn rename(ledger: &Ledger, org: OrgId, name: String) -> Result<Changed<Org>, ActError> {
//!     let renamed = Act::new(By::Operator, move |at: &Snapshot, record: &mut Record<'_>| {
//!         let before = at.org().ok_or(ActError::NotFound("org"))?;
//!         if before.name == name {
//!             return Err(ActError::Conflict("the org has this name already"));
//!         }
//!         let after = Org { name: name.clone(), ..before.clone() };
//!         let deed = record.seal(Fact {
//!             before: Some(json!(before)),
//!             after: Some(json!(after)),
//!             ..Fact::new(EventType::OrgUpdated, Subject::org(org), json!({ "id": org }))
//!         });
//!         record.write(after.clone());
//!         Ok(Changed { object: after, deed })
//!     });
//!     renamed.because(Reason::parse("The company was renamed.")?).enter(ledger, org).await
//! }
//! ```
//!
//! [`MayView`], [`MayChange`], [`MayOwn`] and [`MayOperate`] are what use cases ask of a caller: a value that
//! only the rule which admitted the caller can make.

mod act;
mod admitted;
mod by;
mod error;
mod record;

pub use act::Act;
pub use admitted::{MayChange, MayOperate, MayOwn, MayView};
pub use by::{By, Reason};
pub use error::ActError;
pub use record::{Changed, Fact, Record};
