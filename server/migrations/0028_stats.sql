-- Counts of events for charts (ADR 0041): one row for each tenant, series and quarter of an hour in UTC.
create table stats (
  -- Null for events that concern no tenant.
  tenant_id bigint,
  slot timestamptz(3) not null,
  count bigint not null,
  -- The histogram bucket of the duration. 0 for series without durations, -1 for an unknown duration.
  step smallint not null default 0,
  series text not null
);
-- Includes the counts, so that a period is read from the index alone.
create unique index stats__counts on stats (tenant_id, series, slot, step) include (count)
  nulls not distinct;
-- For the counts of all tenants.
create index stats__by_time on stats (series, slot);
call isolate('stats');
grant select, insert, update, delete on stats to wardkeep_app, wardkeep_platform;

-- For consumers that also read accesses (ADR 0021). With the time, because partitions name their indexes by the columns,
-- and another one has only (xid, id).
create index journal__access_positions on journal (xid, id, created_at) where is_access;
