//! The service at work: it listens, its workers run, and it can be stopped without losing what is
//! under way.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use crypto::SystemEntropy;
use delivery::{Courier, Webhooks};
use futures_util::FutureExt;
use http_api::Build;
use people::store::MailQueue;
use tokio::{net::TcpListener, task::JoinHandle};
use web::{Bounds, Control, Door, Lifecycle, Open, TrustedProxies};

use crate::{
    clock::SystemClock,
    exit::Failure,
    metrics::Watched,
    outages::Outages,
    probe::Probe,
    runtime::{Background, Tokio},
    settings::{Database, Environment, HostPort, Settings},
    wire_up::Wired,
    workers::Workers,
};

/// How long health says `draining` while connections are still taken, so that a balancer notices.
const LAME_DUCK: Duration = Duration::from_secs(5);
/// Where nobody was connected for so long, no balancer asks for health and there is none to notice.
const QUIET: Duration = Duration::from_secs(10);
/// Monitoring asks now and then, over few connections.
const METRICS: Bounds = Bounds {
    connections: 32,
    connections_of_one: 32,
    header_time: Duration::from_secs(10),
    write_stall: Duration::from_secs(10),
    drain_time: Duration::from_secs(1),
};
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
    env: Environment,
    connections: Arc<Open>,
}

/// Where the service listens.
#[derive(Debug)]
pub struct Listeners {
    interface: TcpListener,
    metrics: Option<TcpListener>,
}

/// Returns listeners at the addresses that the settings name.
pub async fn bind(settings: &Settings) -> Result<Listeners, Failure> {
    let interface = listen(&settings.listen).await?;
    let metrics = match &settings.metrics_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    Ok(Listeners { interface, metrics })
}

async fn listen(address: &HostPort) -> Result<TcpListener, Failure> {
    let address = address.as_str();
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "; stop the process that listens there or choose another port"
            }
            _ => "",
        };
        Failure::usage(format!("could not listen at `{address}`: {error}{advice}"))
    })
}

/// Serves the metrics until the service closes.
fn serve_metrics(listener: TcpListener, watched: Watched, lifecycle: Lifecycle) {
    match listener.local_addr() {
        Ok(address) => tracing::info!(%address, "metrics are served"),
        Err(error) => tracing::warn!(%error, "the address of the metrics endpoint is not known"),
    }
    tokio::spawn(web::serve(Door::new(listener), watched, lifecycle, METRICS));
}

impl Service {
    /// Starts to serve at these listeners, as a program that is built from this commit.
    pub fn start(
        wired: Wired,
        settings: &Settings,
        listeners: Listeners,
        commit: Option<String>,
    ) -> Result<Self, Failure> {
        let Listeners { interface, metrics } = listeners;
        let address = interface.local_addr().map_err(Failure::internal)?;
        let (control, lifecycle) = Control::new();
        let Wired { core, store, tools, tasks, checkpoints, keyring, cursor_key, .. } = wired;
        let (people, post, webhooks) = (wired.people, wired.post, wired.webhooks);
        let following = wired.following;
        let mails = Arc::clone(&store) as Arc<dyn MailQueue>;
        let proxies = TrustedProxies::new(settings.trusted_proxies.clone());
        let (ledger, work) = (core.ledger.clone(), Arc::clone(&core.work));
        let place = settings.database.as_ref().map_or("", Database::place).to_owned();
        let needed = (Arc::clone(&tools), post.clone());
        let outages = Arc::new(Outages::new(Arc::clone(&store), needed, place));
        let probe = Probe {
            store: Arc::clone(&store),
            ledger: ledger.clone(),
            records: core.records.clone(),
            work: Arc::clone(&work),
            tools: Arc::clone(&tools),
            logs: Arc::clone(&following.logs),
            post: post.clone(),
            outages: Arc::clone(&outages),
            decoder: following.settings.clone(),
        };
        let aside = tasks.clone();
        let router = http_api::service(http_api::Parts {
            gate: core.gate.clone(),
            admin: Arc::clone(&core.admin),
            records: core.records.clone(),
            webhooks: Webhooks::new(webhooks.clone()),
            events: Arc::clone(&core.stores.events),
            people,
            behind: Arc::new(tasks.clone()),
            probe: Arc::new(probe),
            lifecycle: lifecycle.clone(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy::new()),
            aside: Arc::new(move |work| aside.try_out(work)),
            settings: http_api::Settings {
                base_url: settings.base_url.as_str().to_owned(),
                signup: settings.signup,
                wait_timeout: settings.gate.wait_timeout,
                cursor_key,
                body_memory: settings.body_memory * 1024 * 1024,
                proxies: proxies.clone(),
                build: Build { version: env!("CARGO_PKG_VERSION").to_owned(), commit },
            },
        })
        .map_err(Failure::internal)?;
        let background = Background::new().map_err(Failure::internal)?;
        let courier = Arc::new(Courier::new(webhooks, Arc::new(background)));
        let mailing = (tools, mails, post);
        let leaving = (&courier, &following, &outages);
        let workers = Workers::start(&core, &checkpoints, &keyring, mailing, leaving);
        let door = Door { proxies, ..Door::new(interface) };
        if let Some(listener) = metrics {
            let (router, connections) = (router.clone(), Arc::clone(&door.open));
            let logs = following.logs;
            let watched = Watched { router, connections, ledger, store, work, logs, outages };
            serve_metrics(listener, watched, lifecycle.clone());
        }
        let connections = Arc::clone(&door.open);
        let served = web::serve(door, router, lifecycle, Bounds::default());
        let serving = tokio::spawn(served);
        let env = settings.env;
        Ok(Self { address, control, serving, workers, tasks, env, connections })
    }

    /// Stops: says so to balancers, lets requests and runs end, then the workers. Once `hurry` is
    /// done it stops at once.
    pub async fn stop(self, hurry: impl Future<Output = ()>) {
        let hurry = hurry.shared();
        let Self { control, serving, workers, tasks, env, connections, address: _ } = self;
        control.drain(lame_duck(env, connections.idle_for()), hurry.clone()).await;
        let orderly = async {
            pass("stop.begun");
            let cut_off = serving.await.unwrap_or_default();
            pass("stop.requests_ended");
            let ended = tokio::time::timeout(RUNS_END_WITHIN, tasks.idle()).await.is_ok();
            pass("stop.runs_ended");
            workers.stop().await;
            pass("stop.ended");
            tracing::info!(cut_off, runs_ended = ended, "stopped");
        };
        tokio::select! {
            () = orderly => {}
            () = hurry => tracing::warn!("stopped immediately, without waiting for runs to end"),
        }
    }
}

/// For how long a service that stops still takes connections, when none has been open for so long.
fn lame_duck(env: Environment, idle: Option<Duration>) -> Duration {
    match env {
        Environment::Prod if idle.is_none_or(|idle| idle < QUIET) => LAME_DUCK,
        Environment::Prod | Environment::Dev => Duration::ZERO,
    }
}

/// Passes a point at which a test may end or hold the process; nothing else can fail here.
fn pass(point: &str) {
    let _ = failpoint::hit(point);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_somebody_was_connected_lately_is_there_a_balancer_to_wait_for() {
        let after = |idle| lame_duck(Environment::Prod, idle);
        assert_eq!(after(None), LAME_DUCK, "a connection is open");
        assert_eq!(after(Some(QUIET / 2)), LAME_DUCK);
        assert_eq!(after(Some(QUIET)), Duration::ZERO);
        assert_eq!(after(Some(Duration::MAX)), Duration::ZERO, "nobody ever came");
        assert_eq!(lame_duck(Environment::Dev, None), Duration::ZERO);
    }
}
