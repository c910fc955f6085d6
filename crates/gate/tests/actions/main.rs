//! Actions through the whole Gate, on the memory store.

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod asking;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod house;
#[cfg(test)]
mod intents;
#[cfg(test)]
mod judgements;
#[cfg(test)]
mod late_evidence;
#[cfg(test)]
mod links;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod seeking;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod voids;
#[cfg(test)]
mod waiting_for_evidence;
#[cfg(test)]
mod witnessing;
