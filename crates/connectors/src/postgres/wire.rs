//! What lies between the client library and the governed database's socket, inside of TLS where
//! there is TLS: nobody logs in but by SCRAM, and no other process names statements alike.

use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use tokio_postgres::tls::TlsConnect;

use super::{
    names::{Prefix, PrefixedNames},
    scram::ScramOnly,
};

/// A stream so guarded.
pub(super) type Guarded<S> = PrefixedNames<ScramOnly<S>>;

/// Guards a stream of which nothing was read and to which nothing was written yet.
pub(super) fn guarded<S>(stream: S, prefix: Prefix) -> Guarded<S> {
    PrefixedNames::new(ScramOnly::new(stream), prefix)
}

/// TLS inside of which a stream is guarded.
#[derive(Debug)]
pub(super) struct GuardedTls<T> {
    pub(super) tls: T,
    pub(super) prefix: Prefix,
}

impl<S, T> TlsConnect<S> for GuardedTls<T>
where
    T: TlsConnect<S>,
    T::Future: Send + 'static,
{
    type Stream = Guarded<T::Stream>;
    type Error = T::Error;
    type Future = BoxFuture<'static, Result<Self::Stream, Self::Error>>;

    fn connect(self, stream: S) -> Self::Future {
        let Self { tls, prefix } = self;
        tls.connect(stream).map_ok(|stream| guarded(stream, prefix)).boxed()
    }
}
