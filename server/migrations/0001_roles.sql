-- The roles that the service runs as. Neither owns anything nor can bypass row-level security:
-- wardkeep_app sees one tenant, the one set for its transaction; wardkeep_platform sees all.
do $$
begin
  -- Roles belong to the whole server: another database on it may have made them, even just now.
  if not exists (select from pg_roles where rolname = 'wardkeep_app') then
    create role wardkeep_app nologin nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'wardkeep_platform') then
    create role wardkeep_platform nologin nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

do $$
begin
  execute format('grant wardkeep_app, wardkeep_platform to %I', current_user);
exception when unique_violation then null;
end $$;

revoke create on schema public from public;
grant usage on schema public to wardkeep_app, wardkeep_platform;

create extension if not exists pg_trgm;

-- The tenant of the running transaction; null outside one, which matches no row.
create function current_tenant() returns bigint
language sql stable parallel safe
as $$ select nullif(current_setting('wardkeep.tenant_id', true), '')::bigint $$;

-- Makes a table a tenant's: sees to it that row-level security is on, also for the table's owner,
-- that wardkeep_app sees the rows of its tenant alone and wardkeep_platform sees all.
create procedure isolate(target regclass, tenant_column text default 'tenant_id')
language plpgsql
as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant on %s to wardkeep_app using (%I = current_tenant()) with check (%I = current_tenant())',
    target, tenant_column, tenant_column);
  execute format('create policy platform on %s to wardkeep_platform using (true) with check (true)', target);
end $$;
revoke execute on procedure isolate from public;
