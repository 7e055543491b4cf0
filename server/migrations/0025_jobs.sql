-- The progress of long jobs, which `GET /api/admin/jobs` shows (ADR 0040).

-- Jobs without a table of their own: exports and test restores.
create table jobs (
  id uuid primary key default gen_random_uuid(),
  -- Null for a job of the installation.
  tenant_id bigint references tenants on delete cascade,
  kind text not null,
  -- The record that the job reads or changes, such as a backup.
  subject_id text,
  status text not null default 'running' check (status in ('running', 'completed', 'failed', 'cancelled')),
  -- The current phase in words. Null before the first one.
  phase text,
  done bigint not null default 0,
  -- Null while the amount of work is unknown.
  total bigint,
  error text,
  -- Who started the job. Stored as an object, because the account may be deleted.
  actor jsonb not null,
  created_at timestamptz(3) not null default now(),
  -- When the process of the job last reported that it is running.
  seen_at timestamptz(3) not null default now(),
  finished_at timestamptz(3)
);
create index jobs__by_time on jobs (created_at);
create index jobs__tenant on jobs (tenant_id);
call isolate('jobs');
grant select, insert, update, delete on jobs to wardkeep_app, wardkeep_platform;

-- The work of a backup job that is done, in bytes or rows, and who cancelled the job.
alter table backup_jobs
  add column phase text,
  add column done bigint,
  add column total bigint,
  add column unit text,
  -- When the progress was last recorded, and when its phase began.
  add column progressed_at timestamptz(3),
  add column counted_since timestamptz(3),
  add column cancelled_by jsonb;

-- Who requested a rotation or a replay. Null for those of earlier releases.
alter table encryption_rotations add column actor jsonb;
alter table webhook_replays add column actor jsonb;
