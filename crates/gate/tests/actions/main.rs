//! Actions through the whole Gate, on the memory store.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod house;
