-- The public seal keys of this deployment. They belong to no org and are never removed.

create table seal_key (
    -- The key's RFC 7638 thumbprint.
    kid text not null,
    public bytea not null check (octet_length(public) = 32),
    purpose text not null check (purpose in ('deed', 'checkpoint')),
    activated_at timestamptz not null,
    retired_at timestamptz,
    revoked_at timestamptz,
    revocation_reason text,
    compromised_since timestamptz,
    -- The older key that vouches for this one, and its signature in base64.
    introduced_by text,
    introduction text,
    primary key (kid),
    check ((introduced_by is null) = (introduction is null))
);
