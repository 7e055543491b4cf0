-- The root keys that the database is and was sealed with (ADR 0028), by their fingerprints. None is given twice.
create table root_keys (
  fingerprint text primary key check (fingerprint ~ '^[0-9a-f]{16}$'),
  created_at timestamptz(3) not null default now(),
  retired_at timestamptz(3),
  -- A former one, sealed with the current one for as long as backups from before need it.
  sealed_key bytea,
  constraint root_keys__current_is_given check (retired_at is not null or sealed_key is null)
);
create unique index root_keys__one_current on root_keys ((true)) where retired_at is null;
grant select, insert, update on root_keys to wardkeep_platform;

-- What is sealed names the key that has sealed it, unless it is of format 1: then the next start says.
insert into root_keys (fingerprint)
  select encode(substring(wrapped_key from 2 for 8), 'hex') from key_encryption_keys
  where retired_at is null and get_byte(wrapped_key, 0) = 2;

-- What keys of single purposes are derived from, sealed with the root key: they outlast that one.
create table service_key (
  id integer primary key default 1 check (id = 1),
  sealed_key bytea not null
);
grant select, insert, update (sealed_key), delete on service_key to wardkeep_platform;

-- All that the root key has sealed is sealed anew where another takes its place.
grant update (sealed_reply) on messenger_replies to wardkeep_platform;

-- Who else of this service is on the database. Whoever asks may not see that by themselves.
create function other_sessions() returns table (pid integer, address text, since timestamptz)
language sql security definer set search_path = public, pg_temp
as $$
  select pg_stat_clear_snapshot();
  select pid, host(client_addr), backend_start from pg_stat_activity
  where datname = current_database() and application_name = 'wardkeep' and pid <> pg_backend_pid()
  order by backend_start, pid
$$;
revoke execute on function other_sessions from public;
grant execute on function other_sessions to wardkeep_platform;
