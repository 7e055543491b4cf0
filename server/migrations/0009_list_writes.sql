-- Which transactions have changed what the totals of lists count: a total that was counted in one
-- snapshot still holds in a later one that sees no further of these. Rows are only added, so that no
-- two transactions wait for each other here, and forgotten after some minutes.
create table list_writes (
  xid xid8 not null default pg_current_xact_id(),
  list text not null,
  tenant_id bigint not null,
  primary key (xid, list, tenant_id)
);
call isolate('list_writes');
grant select, insert on list_writes to wardkeep_app, wardkeep_platform;
grant delete on list_writes to wardkeep_platform;

-- For what comes and goes, once a statement.
create function note_list_rows() returns trigger
language plpgsql
as $$
begin
  insert into public.list_writes (list, tenant_id)
    select distinct tg_table_name, tenant_id from written on conflict do nothing;
  return null;
end $$;

-- For what moves from one filter to another; the argument is the column of the tenant.
create function note_list_row() returns trigger
language plpgsql
as $$
begin
  insert into public.list_writes (list, tenant_id)
    values (tg_table_name, (to_jsonb(new) ->> tg_argv[0])::bigint) on conflict do nothing;
  return null;
end $$;

create trigger users__come after insert on users
  referencing new table as written for each statement execute function note_list_rows();
create trigger users__go after delete on users
  referencing old table as written for each statement execute function note_list_rows();
create trigger users__move after update on users for each row
  when ((old.tenant_id, old.role, old.is_active, old.search) is distinct from
    (new.tenant_id, new.role, new.is_active, new.search))
  execute function note_list_row('tenant_id');

create trigger departments__come after insert on departments
  referencing new table as written for each statement execute function note_list_rows();
create trigger departments__go after delete on departments
  referencing old table as written for each statement execute function note_list_rows();
create trigger departments__move after update on departments for each row
  when ((old.tenant_id, old.name) is distinct from (new.tenant_id, new.name))
  execute function note_list_row('tenant_id');

-- A deleted tenant takes its records out of the lists across tenants, a restored one puts them back.
create trigger tenants__move after update on tenants for each row
  when (old.deleted_at is distinct from new.deleted_at) execute function note_list_row('id');
