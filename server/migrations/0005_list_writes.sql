-- Transactions that changed the total of a list. A total counted in one snapshot is still valid in a later snapshot
-- that sees no further rows of this table. Rows are only inserted, so writers never wait for each other, and are
-- deleted after some minutes.
create table list_writes (
  xid xid8 not null default pg_current_xact_id(),
  list text not null,
  tenant_id bigint not null,
  primary key (xid, list, tenant_id)
);
call isolate('list_writes');
grant select, insert on list_writes to wardkeep_app, wardkeep_platform;
grant delete on list_writes to wardkeep_platform;

-- Records inserted and deleted rows, once per statement.
create function note_list_rows() returns trigger
language plpgsql
as $$
begin
  insert into public.list_writes (list, tenant_id)
    select distinct tg_table_name, tenant_id from written on conflict do nothing;
  return null;
end $$;

-- Records an updated row that moves between filters. The argument is the tenant column.
create function note_list_row() returns trigger
language plpgsql
as $$
begin
  insert into public.list_writes (list, tenant_id)
    values (tg_table_name, (to_jsonb(new) ->> tg_argv[0])::bigint) on conflict do nothing;
  return null;
end $$;

-- Deleting or restoring a tenant changes the lists across tenants.
create trigger tenants__move after update on tenants for each row
  when (old.deleted_at is distinct from new.deleted_at) execute function note_list_row('id');
