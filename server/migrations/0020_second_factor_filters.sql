-- The list of users filters by second factor. Whichever of the two groups is small in a tenant, its index finds it.
create index users__with_factor on users (tenant_id, id) where totp_enabled_at is not null;
create index users__without_factor on users (tenant_id, id) where totp_enabled_at is null;
