-- The two roles that the service runs as. Neither owns a table or can bypass row-level security.
-- wardkeep_app sees the tenant that is set for its transaction; wardkeep_platform sees every tenant.
do $$
begin
  -- Roles are shared by all databases of a server, so another database may have created them, even a moment ago.
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

-- Returns the tenant of the running transaction. Returns null outside one, which matches no row.
create function current_tenant() returns bigint
language sql stable parallel safe
as $$ select nullif(current_setting('wardkeep.tenant_id', true), '')::bigint $$;

-- Isolates the tenants of a table: forces row-level security, also for the owner. wardkeep_app sees the rows of its
-- tenant only, wardkeep_platform sees all rows.
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
