-- The transparency logs of the journal (ADR 0042): one log for each tenant, and log 0 for entries without a tenant.
create table audit_logs (
  tenant_id bigint not null,
  -- Distinguishes logs of the same tenant. The first one is 1.
  epoch integer not null,
  -- The number of sealed entries.
  size bigint not null default 0,
  -- The last signed head. Later heads must extend it.
  head_size bigint not null default 0,
  head_root bytea,
  checkpoint text,
  primary key (tenant_id, epoch)
);
call isolate('audit_logs');
grant select, update on audit_logs to wardkeep_app;
grant select, insert, update on audit_logs to wardkeep_platform;

-- The leaves in order, with the salts of their commitments. The content of a leaf is computed from its entry.
create table audit_leaves (
  tenant_id bigint not null,
  epoch integer not null,
  index bigint not null,
  entry_id bigint not null,
  created_at timestamptz(3) not null,
  who_salt bytea not null,
  what_salt bytea not null,
  primary key (tenant_id, epoch, index)
);
create index audit_leaves__by_entry on audit_leaves (entry_id);
call isolate('audit_leaves');
grant select on audit_leaves to wardkeep_app;
grant select, insert on audit_leaves to wardkeep_platform;

-- The hashes of the tree in tiles of 256, without the leaves' content (C2SP tlog-tiles).
create table audit_tiles (
  tenant_id bigint not null,
  epoch integer not null,
  level smallint not null,
  index bigint not null,
  hashes bytea not null,
  primary key (tenant_id, epoch, level, index)
);
-- Hashes cannot be compressed.
alter table audit_tiles alter column hashes set storage external;
call isolate('audit_tiles');
grant select on audit_tiles to wardkeep_app;
grant select, insert, update on audit_tiles to wardkeep_platform;

-- The keys that sign heads. Private keys are encrypted with the root key.
create table audit_keys (
  id text primary key,
  -- The name of this installation's logs, with which the names of all its logs begin.
  name text not null,
  public_key bytea not null,
  sealed_private_key bytea not null,
  created_at timestamptz(3) not null default now(),
  retired_at timestamptz(3)
);
create unique index audit_keys__one_signs on audit_keys ((true)) where retired_at is null;
grant select, insert, update, delete on audit_keys to wardkeep_platform;
