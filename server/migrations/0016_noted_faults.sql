-- What features note of their own faults where no look at the tables alone finds them.

-- Patients whom a node holds otherwise than the database has them: it has looked twice, half a minute apart.
create table patient_cache_faults (
  node text not null,
  tenant_id bigint not null references tenants on delete cascade,
  patient_id bigint not null,
  -- The names of what differs, and never what is in it.
  differs text[] not null,
  held_version integer not null,
  -- Null where there is no such patient any more.
  version integer,
  -- How many patients the node holds.
  entries integer not null,
  since timestamptz(3) not null default now(),
  -- Said again for as long as it is so: what a node that died has said gets old.
  seen_at timestamptz(3) not null default now(),
  primary key (node, patient_id)
);
create index patient_cache_faults__of_patient on patient_cache_faults (tenant_id, patient_id);
call isolate('patient_cache_faults');
grant select, insert, update, delete on patient_cache_faults to wardkeep_app, wardkeep_platform;

alter table backups
  -- When the file was last read again, whatever came of it.
  add column checked_at timestamptz(3),
  -- What was wrong with it then; null for nothing.
  add column fault text;

-- When a record was last sealed anew: one that runs and gets no further has stopped.
alter table encryption_rotations add column progressed_at timestamptz(3) not null default now();
