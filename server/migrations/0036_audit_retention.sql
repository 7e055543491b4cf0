-- Retention of the audit log (ADR 0042). Old entries are archived and removed. Their leaves stay, so that heads and proofs
-- of later entries stay valid, and copies of removed entries are found.
alter table audit_logs
  -- The number of leaves at the beginning of the log whose entries were removed.
  add column pruned_size bigint not null default 0,
  -- Why the last attempt to remove entries failed, and since when.
  add column prune_failure text,
  add column prune_failing_since timestamptz(3);

-- Only the function below changes how many entries were removed.
revoke update on audit_logs from wardkeep_app, wardkeep_platform;
grant update (size, head_size, head_root, checkpoint, anchored_size, ended_at) on audit_logs to wardkeep_app;
grant update (size, head_size, head_root, checkpoint, anchored_size, ended_at, prune_failure, prune_failing_since)
  on audit_logs to wardkeep_platform;

-- The time up to which entries of a tenant were removed. Tenant 0 has the entries without a tenant.
create table journal_prunings (
  tenant_id bigint primary key,
  until timestamptz(3) not null
);
call isolate('journal_prunings');
grant select on journal_prunings to wardkeep_app, wardkeep_platform;

-- Deletes the entries of the next leaves of a log. Runs as the owner, because the service's roles cannot change the
-- journal. Refuses entries that are younger than the shortest retention, and leaves whose entries are missing.
create function prune_entries(log_tenant bigint, log_epoch integer, first_leaf bigint, end_leaf bigint) returns void
language plpgsql security definer set search_path = public, pg_temp
as $$
declare
  earliest timestamptz;
  latest timestamptz;
  deleted bigint;
begin
  perform require_visible_rows();
  update audit_logs set pruned_size = end_leaf
  where tenant_id = log_tenant and epoch = log_epoch and pruned_size = first_leaf and size >= end_leaf;
  if not found then
    raise exception 'another process has removed entries of the log' using errcode = 'object_not_in_prerequisite_state';
  end if;
  select min(created_at), max(created_at) into earliest, latest from audit_leaves
  where tenant_id = log_tenant and epoch = log_epoch and index >= first_leaf and index < end_leaf;
  if latest >= now() - interval '90 days' then
    raise exception 'the journal keeps every entry for 90 days' using errcode = 'insufficient_privilege';
  end if;
  perform set_config('wardkeep.prunes', 'on', true);
  delete from journal_resources resource using audit_leaves leaf
  where leaf.tenant_id = log_tenant and leaf.epoch = log_epoch
    and leaf.index >= first_leaf and leaf.index < end_leaf
    and resource.tenant_id = log_tenant and resource.entry_id = leaf.entry_id
    and resource.created_at = leaf.created_at and resource.created_at between earliest and latest;
  delete from journal entry using audit_leaves leaf
  where leaf.tenant_id = log_tenant and leaf.epoch = log_epoch
    and leaf.index >= first_leaf and leaf.index < end_leaf
    and entry.id = leaf.entry_id and entry.created_at = leaf.created_at
    and entry.created_at between earliest and latest;
  get diagnostics deleted = row_count;
  perform set_config('wardkeep.prunes', '', true);
  if deleted <> end_leaf - first_leaf then
    raise exception 'the journal has % of the % entries to remove', deleted, end_leaf - first_leaf;
  end if;
  insert into journal_prunings (tenant_id, until) values (log_tenant, latest)
  on conflict (tenant_id) do update set until = greatest(journal_prunings.until, excluded.until);
end
$$;
revoke execute on function prune_entries from public;
grant execute on function prune_entries to wardkeep_platform;

-- Returns the months that have partitions, oldest first.
create function journal_months() returns setof date
language sql stable set search_path = public, pg_temp
as $$
  select to_date(right(c.relname, 7), 'YYYY_MM')
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'journal'::regclass order by 1
$$;
revoke execute on function journal_months from public;
grant execute on function journal_months to wardkeep_platform;

-- Drops the partitions of a month if they have no entries. Returns whether it did. Locks the tables in the order of
-- queries. Row-level security hides the rows from an ordinary owner, so it is lifted from the partitions for the check.
create function drop_empty_journal_month(month date) returns boolean
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s'
as $$
declare
  parts text[] := array[to_char(month, '"journal"_YYYY_MM'), to_char(month, '"journal_resources"_YYYY_MM')];
  part text;
  is_empty boolean := true;
  has_rows boolean;
begin
  if month + interval '1 month' >= now() - interval '90 days' then
    raise exception 'the journal keeps every entry for 90 days' using errcode = 'insufficient_privilege';
  end if;
  lock table only journal in access exclusive mode;
  lock table only journal_resources in access exclusive mode;
  foreach part in array parts loop
    continue when to_regclass('public.' || part) is null;
    execute format('alter table %I no force row level security', part);
    execute format('select exists (select from %I)', part) into has_rows;
    execute format('alter table %I force row level security', part);
    is_empty := is_empty and not has_rows;
  end loop;
  if is_empty then
    foreach part in array parts loop
      execute format('drop table if exists %I', part);
    end loop;
  end if;
  return is_empty;
end
$$;
revoke execute on function drop_empty_journal_month from public;
grant execute on function drop_empty_journal_month to wardkeep_platform;
