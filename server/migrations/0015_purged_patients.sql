-- Patients who were destroyed for good, by id (ADR 0030). No backup brings them back. Every backup contains this table.
create table purged_patients (
  id bigint primary key,
  tenant_id bigint not null references tenants on delete cascade,
  purged_at timestamptz(3) not null default clock_timestamp(),
  -- When the store of backups recorded the purge, for a restore after the loss of the database.
  noted_at timestamptz(3)
);
create index purged_patients__unnoted on purged_patients (id) where noted_at is null;
create index purged_patients__of_tenant on purged_patients (tenant_id);
call isolate('purged_patients');
-- A backup of one tenant reads as wardkeep_app.
grant select on purged_patients to wardkeep_app;
grant select, insert, update, delete on purged_patients to wardkeep_platform;

-- The journal knows the patients who were purged before this table existed.
set local role wardkeep_platform;
insert into purged_patients (id, tenant_id, purged_at)
  select j.resource_id::bigint, j.tenant_id, j.created_at
  from journal j join tenants t on t.id = j.tenant_id
  where j.action = 'patient.purged' and j.resource_type = 'patient'
on conflict do nothing;
reset role;
