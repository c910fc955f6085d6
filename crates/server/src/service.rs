//! The service at work: it listens, its workers run, and it can be stopped without losing what is
//! under way.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use crypto::SystemEntropy;
use futures_util::FutureExt;
use http_api::{Bounds, Build, Check, Condition, Control, Probe};
use store_postgres::PostgresStore;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    clock::SystemClock,
    exit::Failure,
    runtime::Tokio,
    settings::{Environment, Settings},
    wire_up::Wired,
    workers::Workers,
};

/// How long health says `draining` while connections are still taken, so that a balancer notices.
const LAME_DUCK: Duration = Duration::from_secs(5);
/// How long runs that have begun may take once nothing new comes in; what is left then, another
/// instance ends after the lease.
const RUNS_END_WITHIN: Duration = Duration::from_secs(30);

/// The service at work.
#[derive(Debug)]
pub struct Service {
    /// Where it listens.
    pub address: SocketAddr,
    control: Control,
    serving: JoinHandle<usize>,
    workers: Workers,
    tasks: Tokio,
    lame_duck: Duration,
}

/// Returns a listener at the address that the settings name.
pub async fn bind(settings: &Settings) -> Result<TcpListener, Failure> {
    let address = settings.listen.as_str();
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => "; stop what listens there or choose another port",
            _ => "",
        };
        Failure::usage(format!("could not listen at `{address}`: {error}{advice}"))
    })
}

impl Service {
    /// Starts to serve at this listener.
    pub fn start(
        wired: Wired,
        settings: &Settings,
        listener: TcpListener,
    ) -> Result<Self, Failure> {
        let address = listener.local_addr().map_err(Failure::internal)?;
        let (control, lifecycle) = Control::new();
        let Wired { core, store, tasks, checkpoints, cursor_key, deps: _ } = wired;
        let service = http_api::service(http_api::Parts {
            gate: core.gate.clone(),
            admin: Arc::clone(&core.admin),
            events: Arc::clone(&core.stores.events),
            probe: Arc::new(Database(store)),
            lifecycle: lifecycle.clone(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy::new()),
            settings: http_api::Settings {
                base_url: settings.base_url.as_str().to_owned(),
                wait_timeout: settings.gate.wait_timeout,
                cursor_key,
                build: Build { version: env!("CARGO_PKG_VERSION").to_owned(), commit: None },
            },
        })
        .map_err(Failure::internal)?;
        let workers = Workers::start(&core, &checkpoints);
        let served = http_api::serve(listener, service, lifecycle, Bounds::default());
        let lame_duck = match settings.env {
            Environment::Prod => LAME_DUCK,
            Environment::Dev => Duration::ZERO,
        };
        Ok(Self { address, control, serving: tokio::spawn(served), workers, tasks, lame_duck })
    }

    /// Stops: says so to balancers, lets requests and runs end, then the workers. Once `hurry` is
    /// done it stops at once.
    pub async fn stop(self, hurry: impl Future<Output = ()>) {
        let hurry = hurry.shared();
        let Self { control, serving, workers, tasks, lame_duck, address: _ } = self;
        control.drain(lame_duck, hurry.clone()).await;
        let orderly = async {
            let cut_off = serving.await.unwrap_or_default();
            let ended = tokio::time::timeout(RUNS_END_WITHIN, tasks.idle()).await.is_ok();
            workers.stop().await;
            tracing::info!(cut_off, runs_ended = ended, "stopped");
        };
        tokio::select! {
            () = orderly => {}
            () = hurry => tracing::warn!("stopped at once, without waiting for runs to end"),
        }
    }
}

/// Looks at what the service cannot serve without.
struct Database(Arc<PostgresStore>);

#[async_trait]
impl Probe for Database {
    async fn checks(&self) -> Vec<Check> {
        let condition = match self.0.ping().await {
            Ok(()) => Condition::Ok,
            Err(_) => Condition::Down,
        };
        vec![Check { name: "database", condition }]
    }
}
