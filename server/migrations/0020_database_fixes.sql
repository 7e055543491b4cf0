-- What self-healing has to know of the database, and the service's roles may not see: no rights on the
-- tables come with it.

-- Another version than a node's own: a newer node changes the schema, which is no fault of it.
grant select on migrations to wardkeep_platform;

-- The highest number that each sequence has given out.
create function sequence_positions() returns table (sequence text, given bigint)
language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  for sequence in
    select c.oid::regclass::text from pg_class c
    where c.relkind = 'S' and c.relnamespace = 'public'::regnamespace
  loop
    execute format('select last_value - (not is_called)::int from %s', sequence) into given;
    return next;
  end loop;
end $$;
revoke execute on function sequence_positions from public;
grant execute on function sequence_positions to wardkeep_platform;
