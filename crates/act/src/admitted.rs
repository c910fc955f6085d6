//! What a use case asks of its caller: a value that says where somebody may do what.
//!
//! Use cases take such a value and no id, so that what was admitted to look cannot be made to
//! change. That holds as long as a type that implements one of these traits can only be made where
//! callers are admitted: the access rules of an interface, or the operator's own verbs.

use model::OrgId;

use crate::By;

/// Somebody who may see what the administration of one org sees.
pub trait MayView {
    /// The org.
    fn org(&self) -> OrgId;

    /// Who it is.
    fn by(&self) -> By;
}

/// Somebody who may change that org, too. A turn looks at their credential once more.
pub trait MayChange: MayView {}

/// Somebody who may do what is an owner's, too; no key may. A turn looks at their role once more.
pub trait MayOwn: MayChange {}

/// Whoever runs the deployment, and so may change all of it: its orgs and its seal keys.
pub trait MayOperate {}
