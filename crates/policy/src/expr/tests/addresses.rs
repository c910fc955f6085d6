//! Addresses and ranges, as expressions read and compare them.

use serde_json::json;

use super::{check_all, run};

#[test]
fn addresses_are_read_strictly() {
    let args = json!({"ip": "10.1.2.3", "mapped": "::ffff:10.1.2.3"});
    check_all(
        &args,
        &[
            ("cidr('10.0.0.0/8').containsIP(args.ip)", "true"),
            ("cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))", "false"),
            ("cidr('0.0.0.0/0').containsIP('::1')", "false"),
            ("cidr('2001:db8::/32').containsIP('2001:db8::1')", "true"),
            ("ip('::1') == ip('0:0:0:0:0:0:0:1')", "true"),
            ("ip(args.mapped)", "ip(args.mapped): `ip` cannot read the value"),
            ("cidr('10.0.0.1/8')", "cidr('10.0.0.1/8'): `cidr` cannot read the value"),
            ("cidr('10.0.0.0/33')", "cidr('10.0.0.0/33'): `cidr` cannot read the value"),
        ],
    );
}

#[test]
fn an_ipv4_address_inside_an_ipv6_one_neither_passes_a_denial_nor_an_allowance() {
    let inside = [
        "::10.1.2.3",
        "::ffff:0:10.1.2.3",
        "64:ff9b::10.1.2.3",
        // All lengths of a local prefix of NAT64.
        "64:ff9b:1::10.1.2.3",
        "64:ff9b:1:a01:2:300::",
        "64:ff9b:1:ff0a:1:203::",
        "64:ff9b:1:ffff:a:102:300:0",
        "2002:a01:203::1",
        "2001:0:4136:e378:8000:63bf:f5fe:fdfc",
        "fe80::5efe:10.1.2.3",
        "2600::200:5efe:10.1.2.3",
    ];
    let asked = |range: &str, address: &str, of: &str| {
        run(&format!("cidr('{range}').containsIP({of})"), &json!({ "ip": address }))
    };
    for address in inside {
        for of in ["args.ip", "ip(args.ip)"] {
            let found = asked("10.1.0.0/16", address, of);
            let told =
                format!("cidr('10.1.0.0/16').containsIP({of}): `containsIP` cannot read the value");
            assert_eq!(found, told, "{address}");
            assert_eq!(asked("10.2.0.0/16", address, of), "false", "{address}");
            // A range of IPv6 goes by the address as it stands.
            assert_eq!(asked("::/0", address, of), "true", "{address}");
            assert_eq!(asked("2001:db8::/32", address, of), "false", "{address}");
        }
    }
    for address in ["::", "::1", "2001:db8::10.1.2.3", "2600::5eff:10.1.2.3", "64:ff9c::10.1.2.3"] {
        assert_eq!(asked("0.0.0.0/0", address, "args.ip"), "false", "{address}");
    }
}
