//! A way out that leads nowhere: it takes every address but those of one host, and says that whatever
//! it is given arrived, unless it was for the host that is down.

use async_trait::async_trait;
use delivery::{Aside, Post, Sender, UrlError};
use futures_util::future::BoxFuture;
use model::DeliveryError;

pub(super) struct Nowhere;

#[async_trait]
impl Sender for Nowhere {
    async fn check(&self, url: &str) -> Result<(), UrlError> {
        if !url.starts_with("https://") {
            return Err(UrlError::Malformed("an address that begins with `https://`".to_owned()));
        }
        if url.starts_with("https://private.example.com") {
            return Err(UrlError::Refused("the address is private".to_owned()));
        }
        Ok(())
    }

    async fn post(&self, post: Post<'_>) -> Result<u16, DeliveryError> {
        Ok(if post.url.starts_with("https://down.example.com") { 503 } else { 200 })
    }
}

impl Aside for Nowhere {
    fn run(&self, work: BoxFuture<'static, ()>) {
        tokio::spawn(work);
    }
}
