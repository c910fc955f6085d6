//! Where a connector's tools run, and who is given its credential: the parts of a config that decide it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::config::{
    Tls, TlsMode, default_decoder_user, default_owner, default_port, default_search_path,
    default_user,
};

/// The parts of a config that say where its tools run. They are read by themselves, so that a config
/// whose tools no longer hold together still has a target.
#[derive(Deserialize)]
struct Target {
    host: String,
    #[serde(default = "default_port")]
    port: u16,
    database: String,
    #[serde(default = "default_user")]
    user: String,
    #[serde(default)]
    read_user: Option<String>,
    #[serde(default = "default_decoder_user")]
    decoder_user: String,
    #[serde(default = "default_owner")]
    owner: String,
    #[serde(default)]
    tls: Tls,
    #[serde(default = "default_search_path")]
    search_path: Vec<String>,
}

impl Target {
    fn of(config: &Value) -> Option<Self> {
        let target = Self::deserialize(config).ok()?;
        // Names of hosts are the same in either case (RFC 4343).
        Some(Self { host: target.host.to_ascii_lowercase(), ..target })
    }

    /// The name that the server's certificate is verified for.
    fn tls_name(&self) -> Option<&str> {
        match self.tls.mode {
            TlsMode::VerifyFull => Some(&self.host),
            TlsMode::Disable => None,
        }
    }
}

/// Where the tools of this config run: part of every tool's digest and of what a person is asked about.
pub(crate) fn target(config: &Value) -> Value {
    let Some(target) = Target::of(config) else { return unread(config) };
    json!({
        "host": target.host,
        "port": target.port,
        "database": target.database,
        "user": target.user,
        "read_user": target.read_user,
        "decoder_user": target.decoder_user,
        "owner": target.owner,
        "search_path": target.search_path,
        "tls_name": target.tls_name(),
    })
}

/// Who is given the credential of this config: which server, for which database and roles, and which
/// certificates make it believed. It is authenticated with every sealed credential, so that a change of
/// its form leaves credentials that do not open.
pub(crate) fn receiver(config: &Value) -> Value {
    let Some(target) = Target::of(config) else { return unread(config) };
    json!({
        "host": target.host,
        "port": target.port,
        "database": target.database,
        "user": target.user,
        "read_user": target.read_user,
        "decoder_user": target.decoder_user,
        "tls_name": target.tls_name(),
        "tls_authorities": target.tls.ca_pem,
    })
}

/// A config that cannot be read is like no other, and no connection is made with it.
fn unread(config: &Value) -> Value {
    json!({ "unread": config })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{receiver, target};

    fn config() -> Value {
        json!({"host": "DB.example", "database": "shop", "tools": []})
    }

    #[test]
    fn a_config_that_leaves_the_defaults_out_has_them() {
        assert_eq!(
            target(&config()),
            json!({
                "host": "db.example", "port": 5432, "database": "shop", "user": "svc_conn",
                "read_user": null, "decoder_user": "svc_decoder", "owner": "svc_owner",
                "search_path": ["public"], "tls_name": "db.example",
            })
        );
        assert_eq!(
            receiver(&config()),
            json!({
                "host": "db.example", "port": 5432, "database": "shop", "user": "svc_conn",
                "read_user": null, "decoder_user": "svc_decoder", "tls_name": "db.example",
                "tls_authorities": null,
            })
        );
    }

    #[test]
    fn each_part_that_decides_where_tools_run_makes_another_target() {
        for (part, value, is_received) in [
            ("host", json!("db2.example"), true),
            ("port", json!(5433), true),
            ("database", json!("shop2"), true),
            ("user", json!("other"), true),
            ("read_user", json!("other"), true),
            ("decoder_user", json!("other"), true),
            ("tls", json!({"mode": "disable"}), true),
            ("owner", json!("other"), false),
            ("search_path", json!(["other", "public"]), false),
        ] {
            let mut other = config();
            other[part] = value;
            assert_ne!(target(&other), target(&config()), "{part}");
            assert_eq!(receiver(&other) != receiver(&config()), is_received, "{part}");
        }
    }

    #[test]
    fn other_authorities_are_another_receiver_of_the_same_target() {
        let mut other = config();
        other["tls"] = json!({"mode": "verify-full", "ca_pem": "mine"});
        assert_eq!(target(&other), target(&config()));
        assert_ne!(receiver(&other), receiver(&config()));
    }

    #[test]
    fn what_decides_nothing_is_no_part_of_it() {
        let mut other = config();
        other["limits"] = json!({"connections": 2});
        other["read_tables"] = json!(["orders"]);
        other["tools"] = json!("of another form");
        assert_eq!((target(&other), receiver(&other)), (target(&config()), receiver(&config())));
    }

    #[test]
    fn a_config_that_cannot_be_read_is_like_no_other() {
        let (one, other) = (json!({"host": 1}), json!({"host": 2}));
        assert_ne!(receiver(&one), receiver(&other));
        assert_ne!(target(&one), target(&config()));
    }
}
