-- The list of users filters by second factor. Either group may be the small one of a tenant.
create index users__with_factor on users (tenant_id, id) where totp_enabled_at is not null;
create index users__without_factor on users (tenant_id, id) where totp_enabled_at is null;
