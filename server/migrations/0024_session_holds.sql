-- Returns true while a session has not ended, or where there is none. Raises an error once the session has ended.
-- Until the transaction ends nobody else can end the session, so an entry that is written in its name never stands
-- behind the entry of the block that ended it. A transaction that ends its own session still writes its entry.
create function session_holds(session uuid) returns boolean
language plpgsql as $$
begin
  if session is null then return true; end if;
  perform from public.sessions s
  where s.id = session and (s.ended_at is null or s.xmin = pg_current_xact_id()::xid) for share;
  if not found then
    raise exception 'the session has ended'
      using errcode = 'foreign_key_violation', constraint = 'sessions__live';
  end if;
  return true;
end $$;
revoke execute on function session_holds from public;
grant execute on function session_holds to wardkeep_app, wardkeep_platform;
