-- Rotations of the keys that seal (ADR 0022). Of no tenant.
create table encryption_rotations (
  id uuid primary key default gen_random_uuid(),
  status text not null default 'running' check (status in ('running', 'completed', 'failed')),
  -- The key-encryption key that it has brought.
  key_id bigint not null,
  records_total bigint not null,
  records_done bigint not null default 0,
  records_failed bigint not null default 0,
  reason text,
  started_at timestamptz(3) not null default now(),
  -- When a process first saw the new keys committed, since it was last asked for: every node has heard of
  -- them soon after.
  seen_at timestamptz(3),
  finished_at timestamptz(3)
);
create unique index encryption_rotations__one_at_a_time on encryption_rotations ((true)) where status = 'running';
create index encryption_rotations__latest on encryption_rotations (started_at);
grant select, insert, update on encryption_rotations to wardkeep_platform;

-- The transactions of this database that began before the instant and are still open. Whoever is not its owner
-- sees no other session's times. Whoever connects has named it: nothing that could be an address stays in the name.
create function transactions_before(instant timestamptz)
returns table (pid integer, since timestamptz, application text)
language sql security definer set search_path = public, pg_temp
begin atomic
  select a.pid, a.xact_start, regexp_replace(a.application_name, '[^[:alnum:]_ .:/()-]', '?', 'g')
  from pg_stat_activity a
  where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
    and a.xact_start < instant;
end;
revoke execute on function transactions_before from public;
grant execute on function transactions_before to wardkeep_platform;

-- Keys that are no more, for a restore to honour; their ids are never given again.
create table destroyed_keys (
  kind text not null check (kind in ('data key', 'key-encryption key')),
  id bigint not null,
  destroyed_at timestamptz(3) not null default now(),
  primary key (kind, id)
);
grant select, insert on destroyed_keys to wardkeep_platform;

-- However a key goes, by a rotation or with its tenant, it is on record.
create function note_destroyed_key() returns trigger
language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  insert into destroyed_keys (kind, id) values (tg_argv[0], old.id) on conflict do nothing;
  return null;
end $$;
create trigger data_keys__destroyed after delete on data_keys for each row
  execute function note_destroyed_key('data key');
create trigger key_encryption_keys__destroyed after delete on key_encryption_keys for each row
  execute function note_destroyed_key('key-encryption key');
