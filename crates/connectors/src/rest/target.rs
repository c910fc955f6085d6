//! Where a connector's tools run, and who is given its credential: the parts of a config that decide it.

use serde_json::{Value, json};
use upstream::Address;

/// Where the tools of this config run: part of every tool's digest and of what a person is asked about.
pub(crate) fn target(config: &Value) -> Value {
    json!({ "base_url": base(config).map(|base| shown(&base)) })
}

/// Who is given the credential of this config: which server, and which certificates make it believed.
/// The path is not part of it: all of a host is one receiver. It is authenticated with every sealed
/// credential, so that a change of its form leaves credentials that do not open.
pub(crate) fn receiver(config: &Value) -> Value {
    // What is no address is refused elsewhere, and is like no other until then.
    let Some(base) = base(config) else { return json!({ "unread": config }) };
    json!({
        "is_secure": base.is_secure(),
        "host": base.host().to_ascii_lowercase(),
        "port": base.port(),
        "tls_authorities": config.pointer("/tls/ca_pem"),
    })
}

fn base(config: &Value) -> Option<Address> {
    Address::parse(config.get("base_url")?.as_str()?).ok()
}

/// The address in its one form, whichever way it was written.
fn shown(base: &Address) -> String {
    let scheme = if base.is_secure() { "https" } else { "http" };
    let host = base.host().to_ascii_lowercase();
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let path = base.path_and_query().trim_end_matches('/');
    format!("{scheme}://{host}:{}{path}", base.port())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{receiver, target};

    fn at(url: &str) -> Value {
        json!({ "base_url": url })
    }

    #[test]
    fn an_address_has_one_form_whichever_way_it_is_written() {
        let home = at("https://a.example/v1");
        assert_eq!(target(&home), json!({"base_url": "https://a.example:443/v1"}));
        for same in ["https://A.example:443/v1", "https://a.example/v1/"] {
            assert_eq!(target(&at(same)), target(&home), "{same}");
        }
        let bracketed = target(&at("http://[::1]:8080"));
        assert_eq!(bracketed["base_url"], "http://[::1]:8080");
    }

    #[test]
    fn another_path_is_another_target_of_the_same_receiver() {
        let (home, other) = (at("https://a.example/v1"), at("https://a.example/v2"));
        assert_ne!(target(&other), target(&home));
        assert_eq!(receiver(&other), receiver(&home));
    }

    #[test]
    fn another_server_or_another_trust_is_another_receiver() {
        let home = receiver(&at("https://a.example"));
        for other in [
            "https://b.example",
            "https://a.example:444",
            "http://a.example:443",
            "https://a.example.",
            "no address",
            "no other address",
        ] {
            assert_ne!(receiver(&at(other)), home, "{other}");
        }
        let trusting = |pem: &str| {
            receiver(&json!({ "base_url": "https://a.example", "tls": { "ca_pem": pem } }))
        };
        assert_ne!(trusting("one"), home);
        assert_ne!(trusting("one"), trusting("two"));
        assert_ne!(receiver(&at("no address")), receiver(&at("no other address")));
    }
}
