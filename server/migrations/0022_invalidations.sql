-- Topics that transactions invalidated in the caches of all nodes (ADR 0037), separated by spaces. Each node reads what
-- has committed since its last snapshot. A row without topics marks a snapshot of the node that deletes old rows.
-- Unlogged: no commit waits for these rows. After a crash or a promotion the table is empty, and nodes that reconnect
-- drop their caches.
create unlogged table invalidations (
  xid xid8 not null default pg_current_xact_id(),
  topics text not null
) with (
  -- Some rows of the last minutes: a share of the table says nothing.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 1000,
  -- Returning pages would lock the table exclusively.
  vacuum_truncate = false
);
create index invalidations__by_xid on invalidations (xid);
grant select, insert on invalidations to wardkeep_app, wardkeep_platform;
grant update, delete on invalidations to wardkeep_platform;
