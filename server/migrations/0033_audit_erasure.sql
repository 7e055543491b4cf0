-- The personal fields of sealed entries can be erased (ADR 0042). The leaf then keeps the commitments instead of the salts.
alter table audit_leaves
  alter column who_salt drop not null,
  alter column what_salt drop not null,
  add column who text,
  add column what text;
-- Finds copies of an erased entry, which have the same commitment.
create index audit_leaves__by_commitment on audit_leaves using hash (who) where who is not null;
grant update (who_salt, what_salt, who, what) on audit_leaves to wardkeep_platform;

-- The journal stays append-only, except that `erase_entries` may set the personal fields of an entry to null, and that
-- `prune_entries` may delete old entries.
create or replace function refuse_journal_change() returns trigger
language plpgsql
as $$
begin
  if tg_op = 'UPDATE' and tg_level = 'ROW' and current_setting('wardkeep.erases', true) = 'on' then
    return new;
  end if;
  if tg_op = 'DELETE' and tg_level = 'ROW' and current_setting('wardkeep.prunes', true) = 'on' then
    return old;
  end if;
  raise exception 'the journal is append-only' using errcode = 'insufficient_privilege';
end $$;

-- Row-level security would hide all rows from an owner that does not inherit the rights of wardkeep_platform.
create function require_visible_rows() returns void
language plpgsql set search_path = public, pg_temp
as $$
begin
  if not pg_has_role(current_user, 'wardkeep_platform', 'usage') then
    raise exception 'the owner % of the tables must inherit the role wardkeep_platform', current_user
      using hint = format('alter role %I inherit', current_user);
  end if;
end
$$;
revoke execute on function require_visible_rows from public;

-- Erases the personal fields of entries. Runs as the owner, because the service's roles cannot change the journal.
create function erase_entries(ids bigint[]) returns void
language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  perform require_visible_rows();
  perform set_config('wardkeep.erases', 'on', true);
  update journal set user_email = null, ip = null, user_agent = null, request_id = null, changes = null,
    who_salt = null, what_salt = null
  where id = any(ids);
  perform set_config('wardkeep.erases', '', true);
end
$$;
revoke execute on function erase_entries from public;
grant execute on function erase_entries to wardkeep_platform;
