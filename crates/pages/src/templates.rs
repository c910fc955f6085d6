//! The templates, by name.

/// A row for each template.
macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        /// Every template with its text.
        pub(crate) const ALL: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../web/pages/", $name)))),*];
    };
}

templates![
    "base.html",
    "bare.html",
    "macros.html",
    "refused.html",
    "rooms.html",
    "shell.html",
    "auth/login.html",
    "auth/confirm.html",
    "auth/join.html",
    "auth/again.html",
    "auth/orgs.html",
    "approve.html",
    "app/question.html",
    "app/approvals.html",
    "app/overview.html",
    "app/actions.html",
    "app/action.html",
    "app/agents.html",
    "app/agent.html",
    "app/agent_stop.html",
    "app/stop.html",
    "app/connectors.html",
    "app/connector.html",
    "app/tool.html",
    "app/policies.html",
    "app/policy.html",
    "app/policy_edit.html",
    "app/policy_tests.html",
    "app/ledger.html",
    "app/deed.html",
    "app/settings.html",
    "app/webhooks.html",
    "app/webhook.html",
    "app/more.html",
];
