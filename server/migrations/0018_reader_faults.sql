-- What is wrong with a reader of the journal that does not get on, for whoever looks for faults.
alter table journal_consumers
  -- Since when its work fails, and the class of the error; null once it got on.
  add column failing_since timestamptz(3),
  add column error text;

-- The other transactions of this database that have a number: they hold back what was written after them.
-- With the owner's eyes: the service's roles see of other sessions neither since when they run nor of what kind they are.
create function running_writers()
returns table (pid integer, connected_at timestamptz, begun_at timestamptz, application text)
language sql security definer set search_path = public, pg_temp
as $$
  select a.pid, a.backend_start, a.xact_start, a.application_name
  from pg_stat_activity a
  where a.backend_xid is not null and a.pid <> pg_backend_pid()
    and a.datid = (select d.oid from pg_database d where d.datname = current_database())
    and coalesce(a.backend_type, 'client backend') = 'client backend'
$$;
revoke execute on function running_writers from public;
grant execute on function running_writers to wardkeep_platform;

-- Ends one of them with its connection. Returns whether it has ended; null where it was not there any more.
create function end_writer(writer integer, connected timestamptz, begun timestamptz) returns boolean
language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  if not exists (select from running_writers() w
    where w.pid = writer and w.connected_at = connected and w.begun_at is not distinct from begun)
  then return null; end if;
  if pg_terminate_backend(writer, 10000) then return true; end if;
  -- It said false also of one that somebody else has ended since; what was seen of it is forgotten first.
  perform pg_stat_clear_snapshot();
  return case when exists (select from running_writers() w
    where w.pid = writer and w.connected_at = connected) then false end;
end
$$;
revoke execute on function end_writer from public;
grant execute on function end_writer to wardkeep_platform;
