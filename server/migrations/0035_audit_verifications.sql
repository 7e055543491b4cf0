-- The verification of each transparency log (ADR 0042), which goes over it again and again, from its newest leaf down.
create table audit_verifications (
  tenant_id bigint not null,
  epoch integer not null,
  -- The number of leaves that the running pass verifies. Null while none runs.
  pass_size bigint,
  -- The leaves from this index on are verified in the running pass.
  next_index bigint not null default 0,
  -- The entries of the journal from this time on were compared with the leaves in the running pass.
  covered_from timestamptz(3),
  -- The start of the running pass, or of the last one.
  pass_started_at timestamptz(3) not null default now(),
  -- Whether a person requested the running pass, which is then not spread over days.
  is_requested boolean not null default false,
  -- The findings of the running pass: those with journal entries of their own, and those that are only counted.
  listed integer not null default 0,
  counted bigint not null default 0,
  is_mailed boolean not null default false,
  -- The last pass that ended.
  verified_size bigint not null default 0,
  verified_at timestamptz(3),
  primary key (tenant_id, epoch)
);
call isolate('audit_verifications');
create index audit_verifications__requested on audit_verifications (tenant_id) where is_requested;
grant select, insert, update on audit_verifications to wardkeep_app;
grant select, insert, update on audit_verifications to wardkeep_platform;

-- What the verification found. A finding that a later pass no longer finds is gone, and is reported again if it returns.
create table audit_findings (
  id bigint generated always as identity primary key,
  tenant_id bigint not null,
  epoch integer not null,
  kind text not null,
  index bigint,
  entry_id bigint,
  detail text not null,
  found_at timestamptz(3) not null default now(),
  last_found_at timestamptz(3) not null default now(),
  gone_at timestamptz(3),
  unique nulls not distinct (tenant_id, epoch, kind, index, entry_id)
);
call isolate('audit_findings');
create index audit_findings__open on audit_findings (kind) where gone_at is null;
grant select on audit_findings to wardkeep_app;
grant select, insert, update on audit_findings to wardkeep_platform;

-- Entries from before the service key have marks of its predecessor, which was lost with the root key.
alter table service_key add column created_at timestamptz(3) not null default '-infinity';
alter table service_key alter column created_at set default now();
