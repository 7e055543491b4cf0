-- The schema that the migrations make. Generated from the catalogues of a migrated database
-- by `npm run generate`; not meant to be edited or run.

CREATE SCHEMA pgboss;
GRANT usage ON SCHEMA pgboss TO wardkeep_app;
GRANT usage ON SCHEMA pgboss TO wardkeep_platform;

GRANT usage ON SCHEMA public TO PUBLIC;
GRANT usage ON SCHEMA public TO wardkeep_app;
GRANT usage ON SCHEMA public TO wardkeep_platform;

CREATE EXTENSION pg_trgm WITH SCHEMA public;

CREATE TYPE pgboss.job_state AS ENUM ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');

CREATE OR REPLACE FUNCTION public.current_tenant()
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select nullif(current_setting('wardkeep.tenant_id', true), '')::bigint $function$;

CREATE OR REPLACE FUNCTION public.drop_empty_journal_month(month date)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
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
$function$;
REVOKE ALL ON ROUTINE drop_empty_journal_month(date) FROM PUBLIC;
GRANT execute ON ROUTINE drop_empty_journal_month(date) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.drop_webhook_partition(one_day date)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
begin
  execute format('drop table if exists %I', 'webhook_deliveries_' || to_char(one_day, 'YYYY_MM_DD'));
  execute format('drop table if exists %I', 'webhook_attempts_' || to_char(one_day, 'YYYY_MM_DD'));
end $function$;
REVOKE ALL ON ROUTINE drop_webhook_partition(date) FROM PUBLIC;
GRANT execute ON ROUTINE drop_webhook_partition(date) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.end_patient_grants()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update public.patient_grants set ended_at = now()
    where tenant_id = old.tenant_id and user_id = old.id and ended_at is null;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.end_writer(writer integer, connected timestamp with time zone, begun timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if not exists (select from running_writers() w
    where w.pid = writer and w.connected_at = connected and w.begun_at is not distinct from begun)
  then return null; end if;
  if pg_terminate_backend(writer, 10000) then return true; end if;
  -- pg_terminate_backend also returns false if another session ended it. Read fresh statistics to find out.
  perform pg_stat_clear_snapshot();
  return case when exists (select from running_writers() w
    where w.pid = writer and w.connected_at = connected) then false end;
end
$function$;
REVOKE ALL ON ROUTINE end_writer(integer,timestamp with time zone,timestamp with time zone) FROM PUBLIC;
GRANT execute ON ROUTINE end_writer(integer,timestamp with time zone,timestamp with time zone) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.ensure_journal_partitions(months_ahead integer, months_back integer DEFAULT 0)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  parent text;
  first_day date;
  part text;
  made integer := 0;
begin
  for ahead in -months_back .. months_ahead loop
    first_day := (date_trunc('month', now() at time zone 'UTC') + make_interval(months => ahead))::date;
    foreach parent in array array['journal', 'journal_resources'] loop
      part := parent || to_char(first_day, '_YYYY_MM');
      continue when to_regclass('public.' || part) is not null;
      perform pg_advisory_xact_lock(7261936);
      -- Another session may have created it. to_regclass may have cached the failed lookup, so ask the catalogue.
      continue when exists (
        select from pg_class where relname = part and relnamespace = 'public'::regnamespace);
      perform make_partition(parent, part, first_day, (first_day + interval '1 month')::date);
      execute format(
        'create trigger journal__no_truncate before truncate on %I for each statement execute function refuse_journal_change()', part);
      made := made + 1;
    end loop;
  end loop;
  return made;
end $function$;
REVOKE ALL ON ROUTINE ensure_journal_partitions(integer,integer) FROM PUBLIC;
GRANT execute ON ROUTINE ensure_journal_partitions(integer,integer) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.ensure_webhook_partitions(first_day date, last_day date)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  parent text;
  part text;
  one_day date;
  made integer := 0;
begin
  if last_day - first_day > 400 then
    raise exception 'too many days at once' using errcode = 'invalid_parameter_value';
  end if;
  for one_day in select generate_series(first_day, last_day, interval '1 day')::date loop
    foreach parent in array array['webhook_deliveries', 'webhook_attempts'] loop
      part := parent || '_' || to_char(one_day, 'YYYY_MM_DD');
      continue when to_regclass('public.' || part) is not null;
      perform pg_advisory_xact_lock(7261939);
      -- Another session may have created it. to_regclass may have cached the failed lookup, so ask the catalogue.
      continue when exists (
        select from pg_class where relname = part and relnamespace = 'public'::regnamespace);
      perform make_partition(parent, part, one_day, one_day + 1);
      made := made + 1;
    end loop;
  end loop;
  return made;
end $function$;
REVOKE ALL ON ROUTINE ensure_webhook_partitions(date,date) FROM PUBLIC;
GRANT execute ON ROUTINE ensure_webhook_partitions(date,date) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.erase_entries(ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform require_visible_rows();
  perform set_config('wardkeep.erases', 'on', true);
  update journal set user_email = null, ip = null, user_agent = null, request_id = null, changes = null,
    who_salt = null, what_salt = null
  where id = any(ids);
  perform set_config('wardkeep.erases', '', true);
end
$function$;
REVOKE ALL ON ROUTINE erase_entries(bigint[]) FROM PUBLIC;
GRANT execute ON ROUTINE erase_entries(bigint[]) TO wardkeep_platform;

CREATE OR REPLACE PROCEDURE public.isolate(IN target regclass, IN tenant_column text DEFAULT 'tenant_id'::text)
 LANGUAGE plpgsql
AS $procedure$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant on %s to wardkeep_app using (%I = current_tenant()) with check (%I = current_tenant())',
    target, tenant_column, tenant_column);
  execute format('create policy platform on %s to wardkeep_platform using (true) with check (true)', target);
end $procedure$;
REVOKE ALL ON ROUTINE isolate(regclass,text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.journal_months()
 RETURNS SETOF date
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select to_date(right(c.relname, 7), 'YYYY_MM')
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'journal'::regclass order by 1
$function$;
REVOKE ALL ON ROUTINE journal_months() FROM PUBLIC;
GRANT execute ON ROUTINE journal_months() TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.key_unfolded_name()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  -- The column of the name.
  name text := to_jsonb(new) ->> tg_argv[0];
begin
  if new.name_key is null or (tg_op = 'UPDATE' and new.name_key = old.name_key
    and name <> to_jsonb(old) ->> tg_argv[0])
  then
    new.name_key := lower(name) || E'\x01' || name;
    new.is_folded := false;
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.make_partition(parent text, part text, first_day date, day_after date)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  execute format('create table %I (like %I including defaults including generated including constraints)', part, parent);
  execute format('alter table %I enable row level security', part);
  execute format('alter table %I force row level security', part);
  execute format(
    'alter table %I attach partition %I for values from (%L) to (%L)', parent, part,
    first_day::text || ' 00:00:00+00', day_after::text || ' 00:00:00+00');
end $function$;
REVOKE ALL ON ROUTINE make_partition(text,text,date,date) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.note_destroyed_key()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into destroyed_keys (kind, id) values (tg_argv[0], old.id) on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_list_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into public.list_writes (list, tenant_id)
    values (tg_table_name, (to_jsonb(new) ->> tg_argv[0])::bigint) on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_list_rows()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into public.list_writes (list, tenant_id)
    select distinct tg_table_name, tenant_id from written on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_purged_tenant()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into purged_tenants (id, backups)
  values (old.id, array(select id from backups where tenant_id = old.id order by id)) on conflict do nothing;
  return old;
end $function$;

CREATE OR REPLACE FUNCTION public.other_sessions()
 RETURNS TABLE(pid integer, address text, since timestamp with time zone)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select pg_stat_clear_snapshot();
  select pid, host(client_addr), backend_start from pg_stat_activity
  where datname = current_database() and application_name = 'wardkeep' and pid <> pg_backend_pid()
  order by backend_start, pid
$function$;
REVOKE ALL ON ROUTINE other_sessions() FROM PUBLIC;
GRANT execute ON ROUTINE other_sessions() TO wardkeep_platform;

CREATE OR REPLACE FUNCTION pgboss.create_queue(queue_name text, options jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  tablename varchar := CASE WHEN options->>'partition' = 'true'
                        THEN 'j' || encode(sha224(queue_name::bytea), 'hex')
                        ELSE 'job_common'
                        END;
  queue_created_on timestamptz;
BEGIN

  WITH q as (
    INSERT INTO pgboss.queue (
      name,
      policy,
      retry_limit,
      retry_delay,
      retry_backoff,
      retry_delay_max,
      expire_seconds,
      retention_seconds,
      deletion_seconds,
      warning_queued,
      dead_letter,
      partition,
      table_name,
      heartbeat_seconds,
      notify,
      created_on,
      updated_on
    )
    VALUES (
      queue_name,
      options->>'policy',
      COALESCE((options->>'retryLimit')::int, 2),
      COALESCE((options->>'retryDelay')::int, 0),
      COALESCE((options->>'retryBackoff')::bool, false),
      (options->>'retryDelayMax')::int,
      COALESCE((options->>'expireInSeconds')::int, 900),
      COALESCE((options->>'retentionSeconds')::int, 1209600),
      COALESCE((options->>'deleteAfterSeconds')::int, 604800),
      COALESCE((options->>'warningQueueSize')::int, 0),
      options->>'deadLetter',
      COALESCE((options->>'partition')::bool, false),
      tablename,
      (options->>'heartbeatSeconds')::int,
      COALESCE((options->>'notify')::bool, false),
      pgboss.job_now(),
      pgboss.job_now()
    )
    ON CONFLICT DO NOTHING
    RETURNING created_on
  )
  SELECT created_on into queue_created_on from q;

  IF queue_created_on IS NULL OR options->>'partition' IS DISTINCT FROM 'true' THEN
    RETURN;
  END IF;

  EXECUTE format('CREATE TABLE pgboss.%I (LIKE pgboss.job INCLUDING DEFAULTS)', tablename);

  EXECUTE pgboss.job_table_format($cmd$ALTER TABLE pgboss.job ADD PRIMARY KEY (name, id)$cmd$, tablename);
  EXECUTE pgboss.job_table_format($cmd$ALTER TABLE pgboss.job ADD CONSTRAINT q_fkey FOREIGN KEY (name) REFERENCES pgboss.queue (name) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED$cmd$, tablename);
  EXECUTE pgboss.job_table_format($cmd$ALTER TABLE pgboss.job ADD CONSTRAINT dlq_fkey FOREIGN KEY (dead_letter) REFERENCES pgboss.queue (name) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED$cmd$, tablename);

  EXECUTE pgboss.job_table_format($cmd$CREATE INDEX job_i11 ON pgboss.job (name, priority DESC, created_on, start_after) WHERE state < 'active' AND NOT blocked$cmd$, tablename);
  EXECUTE pgboss.job_table_format($cmd$CREATE UNIQUE INDEX job_i4 ON pgboss.job (name, singleton_on, COALESCE(singleton_key, '')) WHERE state <> 'cancelled' AND singleton_on IS NOT NULL$cmd$, tablename);
  EXECUTE pgboss.job_table_format($cmd$CREATE INDEX job_i7 ON pgboss.job (name, group_id) WHERE state = 'active' AND group_id IS NOT NULL$cmd$, tablename);
  EXECUTE pgboss.job_table_format($cmd$CREATE INDEX job_i9 ON pgboss.job (name, id) WHERE blocking AND state = 'completed'$cmd$, tablename);
  EXECUTE pgboss.job_table_format($cmd$CREATE INDEX job_i12 ON pgboss.job (source_root_id) WHERE source_root_id IS NOT NULL$cmd$, tablename);

  IF options->>'policy' = 'short' THEN
    EXECUTE pgboss.job_table_format($cmd$CREATE UNIQUE INDEX job_i1 ON pgboss.job (name, COALESCE(singleton_key, '')) WHERE state = 'created' AND policy = 'short'$cmd$, tablename);
  ELSIF options->>'policy' = 'singleton' THEN
    EXECUTE pgboss.job_table_format($cmd$CREATE UNIQUE INDEX job_i2 ON pgboss.job (name, COALESCE(singleton_key, '')) WHERE state = 'active' AND policy = 'singleton'$cmd$, tablename);
  ELSIF options->>'policy' = 'stately' THEN
    EXECUTE pgboss.job_table_format($cmd$CREATE UNIQUE INDEX job_i3 ON pgboss.job (name, state, COALESCE(singleton_key, '')) WHERE state <= 'active' AND policy = 'stately'$cmd$, tablename);
  ELSIF options->>'policy' = 'exclusive' THEN
    EXECUTE pgboss.job_table_format($cmd$CREATE UNIQUE INDEX job_i6 ON pgboss.job (name, COALESCE(singleton_key, '')) WHERE state <= 'active' AND policy = 'exclusive'$cmd$, tablename);
  ELSIF options->>'policy' = 'key_strict_fifo' THEN
    EXECUTE pgboss.job_table_format($cmd$CREATE UNIQUE INDEX job_i8 ON pgboss.job (name, singleton_key) WHERE state IN ('active', 'retry', 'failed') AND policy = 'key_strict_fifo'$cmd$, tablename);
    EXECUTE pgboss.job_table_format($cmd$CREATE INDEX job_i10 ON pgboss.job (name, singleton_key, state DESC, created_on, id) INCLUDE (start_after) WHERE state < 'active' AND NOT blocked AND policy = 'key_strict_fifo'$cmd$, tablename);
    EXECUTE pgboss.job_table_format($cmd$ALTER TABLE pgboss.job ADD CONSTRAINT job_key_strict_fifo_singleton_key_check CHECK (NOT (policy = 'key_strict_fifo' AND singleton_key IS NULL))$cmd$, tablename);
  END IF;

  EXECUTE format('ALTER TABLE pgboss.%I ADD CONSTRAINT cjc CHECK (name=%L)', tablename, queue_name);
  EXECUTE format('ALTER TABLE pgboss.job ATTACH PARTITION pgboss.%I FOR VALUES IN (%L)', tablename, queue_name);
END;
$function$;

CREATE OR REPLACE FUNCTION pgboss.delete_queue(queue_name text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  v_table varchar;
  v_partition bool;
BEGIN

  SELECT table_name, partition
  FROM pgboss.queue
  WHERE name = queue_name
  INTO v_table, v_partition;

  IF v_partition THEN
    EXECUTE format('DROP TABLE IF EXISTS pgboss.%I', v_table);
  ELSE
    EXECUTE format('DELETE FROM pgboss.%I WHERE name = %L', v_table, queue_name);
  END IF;

  DELETE FROM pgboss.queue WHERE name = queue_name;
END;
$function$;

CREATE OR REPLACE FUNCTION pgboss.job_now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  SELECT pg_catalog.now();
$function$;

CREATE OR REPLACE FUNCTION pgboss.job_table_format(command text, table_name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT format(
    regexp_replace(
      regexp_replace(command, '\.job\y', '.%1$I', 'g'),
      '\yjob_i(\d+)', '%1$s_i\1', 'g'
    ),
    table_name
  );
$function$;

CREATE OR REPLACE FUNCTION pgboss.job_table_run(command text, tbl_name text DEFAULT NULL::text, queue_name text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  tbl RECORD;
BEGIN
  IF queue_name IS NOT NULL THEN
    SELECT table_name INTO tbl_name FROM pgboss.queue WHERE name = queue_name;
  END IF;

  IF tbl_name IS NOT NULL THEN
    EXECUTE pgboss.job_table_format(command, tbl_name);
    RETURN;
  END IF;

  EXECUTE pgboss.job_table_format(command, 'job_common');

  FOR tbl IN SELECT table_name FROM pgboss.queue WHERE partition = true
  LOOP
    EXECUTE pgboss.job_table_format(command, tbl.table_name);
  END LOOP;
END;
$function$;

CREATE OR REPLACE FUNCTION pgboss.job_table_run_async(command_name text, version integer, command text, tbl_name text DEFAULT NULL::text, queue_name text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF queue_name IS NOT NULL THEN
    SELECT table_name INTO tbl_name FROM pgboss.queue WHERE name = queue_name;
  END IF;

  IF tbl_name IS NOT NULL THEN
    INSERT INTO pgboss.bam (name, version, status, queue, table_name, command)
    VALUES (
      command_name,
      version,
      'pending',
      queue_name,
      tbl_name,
      pgboss.job_table_format(command, tbl_name)
    );
    RETURN;
  END IF;

  INSERT INTO pgboss.bam (name, version, status, queue, table_name, command)
  SELECT
    command_name,
    version,
    'pending',
    NULL,
    'job_common',
    pgboss.job_table_format(command, 'job_common')
  UNION ALL
  SELECT
    command_name,
    version,
    'pending',
    queue.name,
    queue.table_name,
    pgboss.job_table_format(command, queue.table_name)
  FROM pgboss.queue
  WHERE partition = true;
END;
$function$;

CREATE OR REPLACE FUNCTION public.prune_entries(log_tenant bigint, log_epoch integer, first_leaf bigint, end_leaf bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;
REVOKE ALL ON ROUTINE prune_entries(bigint,integer,bigint,bigint) FROM PUBLIC;
GRANT execute ON ROUTINE prune_entries(bigint,integer,bigint,bigint) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.refuse_journal_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' and tg_level = 'ROW' and current_setting('wardkeep.erases', true) = 'on' then
    return new;
  end if;
  if tg_op = 'DELETE' and tg_level = 'ROW' and current_setting('wardkeep.prunes', true) = 'on' then
    return old;
  end if;
  raise exception 'the journal is append-only' using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_purged_tenant()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if exists (select from purged_tenants where id = new.id) then
    raise exception 'tenant % was purged, and comes back from nowhere', new.id;
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.require_visible_rows()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if not pg_has_role(current_user, 'wardkeep_platform', 'usage') then
    raise exception 'the owner % of the tables must inherit the role wardkeep_platform', current_user
      using hint = format('alter role %I inherit', current_user);
  end if;
end
$function$;
REVOKE ALL ON ROUTINE require_visible_rows() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.running_writers()
 RETURNS TABLE(pid integer, connected_at timestamp with time zone, begun_at timestamp with time zone, application text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select a.pid, a.backend_start, a.xact_start, a.application_name
  from pg_stat_activity a
  where a.backend_xid is not null and a.pid <> pg_backend_pid()
    and a.datid = (select d.oid from pg_database d where d.datname = current_database())
    and coalesce(a.backend_type, 'client backend') = 'client backend'
$function$;
REVOKE ALL ON ROUTINE running_writers() FROM PUBLIC;
GRANT execute ON ROUTINE running_writers() TO wardkeep_platform;

CREATE OR REPLACE PROCEDURE public.seal(IN target regclass, IN id_column text, VARIADIC sealed_columns text[])
 LANGUAGE plpgsql
AS $procedure$
declare
  table_name text := (select relname from pg_class where oid = target);
  sealed_column text;
begin
  execute format('alter table %s add column data_key_id bigint not null generated always as (sealed_by(%I)) stored',
    target, sealed_columns[1]);
  execute format('alter table %s add constraint %I foreign key (data_key_id) references data_keys deferrable',
    target, table_name || '__data_key');
  foreach sealed_column in array sealed_columns[2:] loop
    execute format('alter table %s add constraint %I check (sealed_by(%I) = data_key_id)',
      target, table_name || '__' || sealed_column || '_key', sealed_column);
  end loop;
  execute format('create index %I on %s (data_key_id, %I)', table_name || '__by_data_key', target, id_column);
end $procedure$;
REVOKE ALL ON ROUTINE seal(regclass,text,text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.sealed_by(sealed bytea)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((('x'::text || encode(SUBSTRING(sealed FROM CASE get_byte(SUBSTRING(sealed FROM 1 FOR 1), 0) WHEN 2 THEN 2 ELSE 1 END FOR 8), 'hex'::text)))::bit(64))::bigint;

CREATE OR REPLACE FUNCTION public.sequence_positions()
 RETURNS TABLE(sequence text, given bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  for sequence in
    select c.oid::regclass::text from pg_class c
    where c.relkind = 'S' and c.relnamespace = 'public'::regnamespace
  loop
    execute format('select last_value - (not is_called)::int from %s', sequence) into given;
    return next;
  end loop;
end $function$;
REVOKE ALL ON ROUTINE sequence_positions() FROM PUBLIC;
GRANT execute ON ROUTINE sequence_positions() TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.session_holds(session uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if session is null then return true; end if;
  perform from public.sessions s
  where s.id = session and (s.ended_at is null or s.xmin = pg_current_xact_id()::xid) for share;
  if not found then
    raise exception 'the session has ended'
      using errcode = 'foreign_key_violation', constraint = 'sessions__live';
  end if;
  return true;
end $function$;
REVOKE ALL ON ROUTINE session_holds(uuid) FROM PUBLIC;
GRANT execute ON ROUTINE session_holds(uuid) TO wardkeep_app;
GRANT execute ON ROUTINE session_holds(uuid) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.transactions_before(instant timestamp with time zone)
 RETURNS TABLE(pid integer, since timestamp with time zone, application text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
BEGIN ATOMIC
 SELECT a.pid,
     a.xact_start,
     regexp_replace(a.application_name, '[^[:alnum:]_ .:/()-]'::text, '?'::text, 'g'::text) AS regexp_replace
    FROM pg_stat_activity a
   WHERE ((a.datname = current_database()) AND (a.backend_type = 'client backend'::text) AND (a.pid <> pg_backend_pid()) AND (a.xact_start < transactions_before.instant));
END;
REVOKE ALL ON ROUTINE transactions_before(timestamp with time zone) FROM PUBLIC;
GRANT execute ON ROUTINE transactions_before(timestamp with time zone) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.wake_chat(chat bytea, at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
BEGIN ATOMIC
 INSERT INTO messenger_chats AS c (hash, due_at)
   VALUES (wake_chat.chat, wake_chat.at) ON CONFLICT(hash) DO UPDATE SET due_at = LEAST(c.due_at, GREATEST(c.free_at, excluded.due_at));
END;
REVOKE ALL ON ROUTINE wake_chat(bytea,timestamp with time zone) FROM PUBLIC;
GRANT execute ON ROUTINE wake_chat(bytea,timestamp with time zone) TO wardkeep_app;
GRANT execute ON ROUTINE wake_chat(bytea,timestamp with time zone) TO wardkeep_platform;

CREATE OR REPLACE FUNCTION public.webhook_partition_days()
 RETURNS SETOF date
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select to_date(right(c.relname, 10), 'YYYY_MM_DD')
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'webhook_deliveries'::regclass order by 1
$function$;
REVOKE ALL ON ROUTINE webhook_partition_days() FROM PUBLIC;
GRANT execute ON ROUTINE webhook_partition_days() TO wardkeep_platform;

CREATE TABLE account_tokens (
  tenant_id bigint NOT NULL,
  user_id bigint NOT NULL,
  purpose text NOT NULL,
  token_hash bytea NOT NULL,
  email text NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT account_tokens_pkey PRIMARY KEY (user_id, purpose),
  CONSTRAINT account_tokens__hash UNIQUE (token_hash),
  CONSTRAINT account_tokens_purpose_check CHECK (purpose = ANY (ARRAY['verify_email'::text, 'reset_password'::text, 'invitation'::text])),
  CONSTRAINT account_tokens__user FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX account_tokens__expired ON account_tokens USING btree (expires_at);
ALTER TABLE account_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE account_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON account_tokens FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON account_tokens FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON account_tokens TO wardkeep_app;
GRANT delete, insert, select, update ON account_tokens TO wardkeep_platform;

CREATE TABLE audit_findings (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  epoch integer NOT NULL,
  kind text NOT NULL,
  index bigint,
  entry_id bigint,
  detail text NOT NULL,
  found_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  last_found_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  gone_at timestamp(3) with time zone,
  CONSTRAINT audit_findings_pkey PRIMARY KEY (id),
  CONSTRAINT audit_findings_tenant_id_epoch_kind_index_entry_id_key UNIQUE NULLS NOT DISTINCT (tenant_id, epoch, kind, index, entry_id)
);
CREATE INDEX audit_findings__open ON audit_findings USING btree (kind) WHERE gone_at IS NULL;
ALTER TABLE audit_findings ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_findings FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON audit_findings FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON audit_findings FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT insert, select, update ON audit_findings TO wardkeep_platform;
GRANT select ON audit_findings TO wardkeep_app;

CREATE TABLE audit_keys (
  id text NOT NULL,
  name text NOT NULL,
  public_key bytea NOT NULL,
  sealed_private_key bytea,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  retired_at timestamp(3) with time zone,
  CONSTRAINT audit_keys_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX audit_keys__one_signs ON audit_keys USING btree ((true)) WHERE retired_at IS NULL;
GRANT delete, insert, select, update ON audit_keys TO wardkeep_platform;
GRANT select ON audit_keys TO wardkeep_app;

CREATE TABLE audit_leaves (
  tenant_id bigint NOT NULL,
  epoch integer NOT NULL,
  index bigint NOT NULL,
  entry_id bigint NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  who_salt bytea,
  what_salt bytea,
  mark text DEFAULT 'none'::text NOT NULL,
  who text,
  what text,
  CONSTRAINT audit_leaves_pkey PRIMARY KEY (tenant_id, epoch, index)
);
CREATE INDEX audit_leaves__by_commitment ON audit_leaves USING hash (who) WHERE who IS NOT NULL;
CREATE INDEX audit_leaves__by_entry ON audit_leaves USING btree (entry_id);
CREATE INDEX audit_leaves__by_salt ON audit_leaves USING hash (who_salt);
ALTER TABLE audit_leaves ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_leaves FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON audit_leaves FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON audit_leaves FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT insert, select ON audit_leaves TO wardkeep_platform;
GRANT select ON audit_leaves TO wardkeep_app;
GRANT update (what) ON audit_leaves TO wardkeep_platform;
GRANT update (what_salt) ON audit_leaves TO wardkeep_platform;
GRANT update (who) ON audit_leaves TO wardkeep_platform;
GRANT update (who_salt) ON audit_leaves TO wardkeep_platform;

CREATE TABLE audit_logs (
  tenant_id bigint NOT NULL,
  epoch integer NOT NULL,
  size bigint DEFAULT 0 NOT NULL,
  head_size bigint DEFAULT 0 NOT NULL,
  head_root bytea,
  checkpoint text,
  anchored_size bigint DEFAULT 0 NOT NULL,
  ended_at timestamp(3) with time zone,
  pruned_size bigint DEFAULT 0 NOT NULL,
  prune_failure text,
  prune_failing_since timestamp(3) with time zone,
  CONSTRAINT audit_logs_pkey PRIMARY KEY (tenant_id, epoch)
);
CREATE UNIQUE INDEX audit_logs__current ON audit_logs USING btree (tenant_id) WHERE ended_at IS NULL;
ALTER TABLE audit_logs ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_logs FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON audit_logs FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON audit_logs FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT insert, select ON audit_logs TO wardkeep_platform;
GRANT select ON audit_logs TO wardkeep_app;
GRANT update (anchored_size) ON audit_logs TO wardkeep_app;
GRANT update (anchored_size) ON audit_logs TO wardkeep_platform;
GRANT update (checkpoint) ON audit_logs TO wardkeep_app;
GRANT update (checkpoint) ON audit_logs TO wardkeep_platform;
GRANT update (ended_at) ON audit_logs TO wardkeep_app;
GRANT update (ended_at) ON audit_logs TO wardkeep_platform;
GRANT update (head_root) ON audit_logs TO wardkeep_app;
GRANT update (head_root) ON audit_logs TO wardkeep_platform;
GRANT update (head_size) ON audit_logs TO wardkeep_app;
GRANT update (head_size) ON audit_logs TO wardkeep_platform;
GRANT update (prune_failing_since) ON audit_logs TO wardkeep_platform;
GRANT update (prune_failure) ON audit_logs TO wardkeep_platform;
GRANT update (size) ON audit_logs TO wardkeep_app;
GRANT update (size) ON audit_logs TO wardkeep_platform;

CREATE TABLE audit_tiles (
  tenant_id bigint NOT NULL,
  epoch integer NOT NULL,
  level smallint NOT NULL,
  index bigint NOT NULL,
  hashes bytea NOT NULL,
  CONSTRAINT audit_tiles_pkey PRIMARY KEY (tenant_id, epoch, level, index)
);
ALTER TABLE audit_tiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_tiles FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON audit_tiles FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON audit_tiles FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT insert, select, update ON audit_tiles TO wardkeep_platform;
GRANT select ON audit_tiles TO wardkeep_app;

CREATE TABLE audit_verifications (
  tenant_id bigint NOT NULL,
  epoch integer NOT NULL,
  pass_size bigint,
  next_index bigint DEFAULT 0 NOT NULL,
  covered_from timestamp(3) with time zone,
  pass_started_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  is_requested boolean DEFAULT false NOT NULL,
  listed integer DEFAULT 0 NOT NULL,
  counted bigint DEFAULT 0 NOT NULL,
  is_mailed boolean DEFAULT false NOT NULL,
  verified_size bigint DEFAULT 0 NOT NULL,
  verified_at timestamp(3) with time zone,
  CONSTRAINT audit_verifications_pkey PRIMARY KEY (tenant_id, epoch)
);
CREATE INDEX audit_verifications__requested ON audit_verifications USING btree (tenant_id) WHERE is_requested;
ALTER TABLE audit_verifications ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_verifications FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON audit_verifications FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON audit_verifications FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT insert, select, update ON audit_verifications TO wardkeep_app;
GRANT insert, select, update ON audit_verifications TO wardkeep_platform;

CREATE TABLE audit_witnesses (
  origin text NOT NULL,
  key text NOT NULL,
  size bigint DEFAULT 0 NOT NULL,
  checkpoint text,
  cosigned_at timestamp(3) with time zone,
  failure text,
  failing_since timestamp(3) with time zone,
  contradicts boolean DEFAULT false NOT NULL,
  CONSTRAINT audit_witnesses_pkey PRIMARY KEY (origin, key)
);
GRANT insert, select, update ON audit_witnesses TO wardkeep_platform;

CREATE TABLE backup_jobs (
  id uuid NOT NULL,
  number integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  backup_id uuid NOT NULL,
  tenant_id bigint,
  kind text NOT NULL,
  options jsonb DEFAULT '{}'::jsonb NOT NULL,
  status text DEFAULT 'queued'::text NOT NULL,
  progress double precision DEFAULT 0 NOT NULL,
  error text,
  result jsonb,
  actor jsonb NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  phase text,
  done bigint,
  total bigint,
  unit text,
  progressed_at timestamp(3) with time zone,
  counted_since timestamp(3) with time zone,
  cancelled_by jsonb,
  CONSTRAINT backup_jobs_pkey PRIMARY KEY (id),
  CONSTRAINT backup_jobs__number UNIQUE (number),
  CONSTRAINT backup_jobs_kind_check CHECK (kind = ANY (ARRAY['create'::text, 'restore'::text, 'forget'::text])),
  CONSTRAINT backup_jobs_progress_check CHECK (progress >= 0::double precision AND progress <= 1::double precision),
  CONSTRAINT backup_jobs_status_check CHECK (status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'failed'::text])),
  CONSTRAINT backup_jobs_backup_id_fkey FOREIGN KEY (backup_id) REFERENCES backups(id) ON DELETE CASCADE,
  CONSTRAINT backup_jobs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX backup_jobs__backup ON backup_jobs USING btree (backup_id);
CREATE UNIQUE INDEX backup_jobs__one_at_a_time ON backup_jobs USING btree (kind, COALESCE(tenant_id, 0::bigint)) WHERE status = ANY (ARRAY['queued'::text, 'running'::text]);
CREATE INDEX backup_jobs__tenant ON backup_jobs USING btree (tenant_id);
ALTER TABLE backup_jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE backup_jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON backup_jobs FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON backup_jobs FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON backup_jobs TO wardkeep_app;
GRANT delete, insert, select, update ON backup_jobs TO wardkeep_platform;

CREATE TABLE backups (
  id uuid NOT NULL,
  type text NOT NULL,
  tenant_id bigint,
  reason text NOT NULL,
  status text DEFAULT 'queued'::text NOT NULL,
  size_bytes bigint,
  sha256 text,
  records bigint,
  schema_version integer,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  created_by bigint,
  verified_at timestamp(3) with time zone,
  drill_seconds double precision,
  locked_until timestamp(3) with time zone,
  rewritten_at timestamp(3) with time zone,
  forgotten bigint[] DEFAULT '{}'::bigint[] NOT NULL,
  checked_at timestamp(3) with time zone,
  fault text,
  CONSTRAINT backups_pkey PRIMARY KEY (id),
  CONSTRAINT backups__completed CHECK (status <> 'completed'::text OR ROW(size_bytes, sha256, records, schema_version) IS NOT NULL),
  CONSTRAINT backups__tenant CHECK ((type = 'tenant'::text) = (tenant_id IS NOT NULL)),
  CONSTRAINT backups_reason_check CHECK (reason = ANY (ARRAY['request'::text, 'schedule'::text, 'safety'::text])),
  CONSTRAINT backups_status_check CHECK (status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'failed'::text])),
  CONSTRAINT backups_type_check CHECK (type = ANY (ARRAY['full'::text, 'tenant'::text])),
  CONSTRAINT backups_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX backups__by_time ON backups USING btree (tenant_id, created_at, id);
ALTER TABLE backups ENABLE ROW LEVEL SECURITY;
ALTER TABLE backups FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON backups FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON backups FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON backups TO wardkeep_app;
GRANT delete, insert, select, update ON backups TO wardkeep_platform;

CREATE TABLE data_keys (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  key_encryption_key_id bigint NOT NULL,
  wrapped_key bytea NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  retired_at timestamp(3) with time zone,
  CONSTRAINT data_keys_pkey PRIMARY KEY (id),
  CONSTRAINT data_keys_key_encryption_key_id_fkey FOREIGN KEY (key_encryption_key_id) REFERENCES key_encryption_keys(id),
  CONSTRAINT data_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX data_keys__by_kek ON data_keys USING btree (key_encryption_key_id);
CREATE UNIQUE INDEX data_keys__one_current ON data_keys USING btree (tenant_id) WHERE retired_at IS NULL;
ALTER TABLE data_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE data_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON data_keys FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON data_keys FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
CREATE TRIGGER data_keys__destroyed AFTER DELETE ON data_keys FOR EACH ROW EXECUTE FUNCTION note_destroyed_key('data key');
GRANT delete, insert, select, update ON data_keys TO wardkeep_app;
GRANT delete, insert, select, update ON data_keys TO wardkeep_platform;

CREATE TABLE departments (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  name text NOT NULL,
  head_doctor_id bigint,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  is_folded boolean DEFAULT false NOT NULL,
  is_double boolean DEFAULT false NOT NULL,
  CONSTRAINT departments_pkey PRIMARY KEY (id),
  CONSTRAINT departments_tenant_id_id_key UNIQUE (tenant_id, id),
  CONSTRAINT departments__head_doctor FOREIGN KEY (tenant_id, head_doctor_id) REFERENCES users(tenant_id, id) ON DELETE SET NULL (head_doctor_id),
  CONSTRAINT departments_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX departments__by_created ON departments USING btree (tenant_id, created_at, id);
CREATE INDEX departments__by_name ON departments USING btree (tenant_id, name_key, id);
CREATE INDEX departments__head ON departments USING btree (tenant_id, head_doctor_id) WHERE head_doctor_id IS NOT NULL;
CREATE UNIQUE INDEX departments__name ON departments USING btree (tenant_id, split_part(name_key, ''::text, 1)) WHERE NOT is_double;
CREATE INDEX departments__unfolded ON departments USING btree (id) WHERE NOT is_folded;
ALTER TABLE departments ENABLE ROW LEVEL SECURITY;
ALTER TABLE departments FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON departments FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON departments FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
CREATE TRIGGER departments__come AFTER INSERT ON departments REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION note_list_rows();
CREATE TRIGGER departments__go AFTER DELETE ON departments REFERENCING OLD TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION note_list_rows();
CREATE TRIGGER departments__key_name BEFORE INSERT OR UPDATE ON departments FOR EACH ROW EXECUTE FUNCTION key_unfolded_name('name');
CREATE TRIGGER departments__move AFTER UPDATE ON departments FOR EACH ROW WHEN (old.tenant_id IS DISTINCT FROM new.tenant_id OR old.name IS DISTINCT FROM new.name) EXECUTE FUNCTION note_list_row('tenant_id');
GRANT delete, insert, select, update ON departments TO wardkeep_app;
GRANT delete, insert, select, update ON departments TO wardkeep_platform;

CREATE TABLE destroyed_keys (
  kind text NOT NULL,
  id bigint NOT NULL,
  destroyed_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT destroyed_keys_pkey PRIMARY KEY (kind, id),
  CONSTRAINT destroyed_keys_kind_check CHECK (kind = ANY (ARRAY['data key'::text, 'key-encryption key'::text]))
);
GRANT insert, select ON destroyed_keys TO wardkeep_platform;

CREATE TABLE download_tickets (
  token_hash bytea NOT NULL,
  tenant_id bigint NOT NULL,
  user_id bigint NOT NULL,
  session_id uuid NOT NULL,
  ip text NOT NULL,
  backup_id uuid NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  used_at timestamp(3) with time zone,
  resumptions smallint DEFAULT 0 NOT NULL,
  CONSTRAINT download_tickets_pkey PRIMARY KEY (token_hash),
  CONSTRAINT download_tickets__session FOREIGN KEY (tenant_id, session_id) REFERENCES sessions(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT download_tickets_backup_id_fkey FOREIGN KEY (backup_id) REFERENCES backups(id) ON DELETE CASCADE
);
CREATE INDEX download_tickets__by_backup ON download_tickets USING btree (backup_id);
CREATE INDEX download_tickets__by_session ON download_tickets USING btree (tenant_id, session_id);
CREATE INDEX download_tickets__expired ON download_tickets USING btree (expires_at);
ALTER TABLE download_tickets ENABLE ROW LEVEL SECURITY;
ALTER TABLE download_tickets FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON download_tickets FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON download_tickets FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON download_tickets TO wardkeep_app;
GRANT delete, insert, select, update ON download_tickets TO wardkeep_platform;

CREATE TABLE encryption_rotations (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  number integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  status text DEFAULT 'running'::text NOT NULL,
  key_id bigint NOT NULL,
  records_total bigint NOT NULL,
  records_done bigint DEFAULT 0 NOT NULL,
  records_failed bigint DEFAULT 0 NOT NULL,
  reason text,
  started_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  seen_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  progressed_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  actor jsonb,
  CONSTRAINT encryption_rotations_pkey PRIMARY KEY (id),
  CONSTRAINT encryption_rotations__number UNIQUE (number),
  CONSTRAINT encryption_rotations_status_check CHECK (status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text]))
);
CREATE UNIQUE INDEX encryption_rotations__one_at_a_time ON encryption_rotations USING btree ((true)) WHERE status = 'running'::text;
GRANT insert, select, update ON encryption_rotations TO wardkeep_platform;

CREATE TABLE installation (
  one boolean DEFAULT true NOT NULL,
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  outbound_held_at timestamp(3) with time zone,
  CONSTRAINT installation_pkey PRIMARY KEY (one),
  CONSTRAINT installation_one_check CHECK (one)
);
GRANT select ON installation TO wardkeep_platform;
GRANT update (outbound_held_at) ON installation TO wardkeep_platform;

CREATE UNLOGGED TABLE invalidations (
  xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
  topics text NOT NULL
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, vacuum_truncate=false);
CREATE INDEX invalidations__by_xid ON invalidations USING btree (xid);
GRANT delete, insert, select, update ON invalidations TO wardkeep_platform;
GRANT insert, select ON invalidations TO wardkeep_app;

CREATE TABLE jobs (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  tenant_id bigint,
  kind text NOT NULL,
  subject_id text,
  status text DEFAULT 'running'::text NOT NULL,
  phase text,
  done bigint DEFAULT 0 NOT NULL,
  total bigint,
  error text,
  actor jsonb NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  seen_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  finished_at timestamp(3) with time zone,
  CONSTRAINT jobs_pkey PRIMARY KEY (id),
  CONSTRAINT jobs_status_check CHECK (status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])),
  CONSTRAINT jobs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX jobs__by_time ON jobs USING btree (created_at);
CREATE INDEX jobs__tenant ON jobs USING btree (tenant_id);
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON jobs FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON jobs FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON jobs TO wardkeep_app;
GRANT delete, insert, select, update ON jobs TO wardkeep_platform;

CREATE TABLE journal (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  tenant_id bigint,
  user_id bigint,
  resource_hash integer GENERATED ALWAYS AS ((('x'::text || "left"(md5(resource_id), 8)))::bit(32)::integer) STORED,
  is_access boolean DEFAULT false NOT NULL,
  action text NOT NULL,
  resource_type text NOT NULL,
  resource_id text,
  request_id uuid,
  ip text,
  user_email text,
  user_agent text,
  changes jsonb,
  who_salt bytea,
  what_salt bytea,
  mac bytea,
  CONSTRAINT journal_pkey PRIMARY KEY (id, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX journal__access_positions ON journal USING btree (xid, id, created_at) WHERE is_access;
CREATE INDEX journal__by_ip ON journal USING btree (ip, tenant_id) WHERE ip IS NOT NULL;
CREATE INDEX journal__by_record ON journal USING btree (action, resource_type, resource_hash, (
CASE
    WHEN resource_type = 'patient'::text THEN created_at
    ELSE NULL::timestamp with time zone
END));
CREATE INDEX journal__by_request ON journal USING btree (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX journal__by_tenant ON journal USING btree (tenant_id, created_at, id, is_access, action);
CREATE INDEX journal__by_time ON journal USING btree (created_at, id);
CREATE INDEX journal__by_user ON journal USING btree (user_id, created_at);
CREATE INDEX journal__positions ON journal USING btree (xid, id) WHERE NOT is_access;
ALTER TABLE journal ENABLE ROW LEVEL SECURITY;
ALTER TABLE journal FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON journal FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON journal FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
CREATE TRIGGER journal__append_only BEFORE DELETE OR UPDATE ON journal FOR EACH ROW EXECUTE FUNCTION refuse_journal_change();
CREATE TRIGGER journal__no_truncate BEFORE TRUNCATE ON journal FOR EACH STATEMENT EXECUTE FUNCTION refuse_journal_change();
GRANT insert, select ON journal TO wardkeep_app;
GRANT insert, select ON journal TO wardkeep_platform;

CREATE TABLE journal_actions (
  action text NOT NULL,
  CONSTRAINT journal_actions_pkey PRIMARY KEY (action)
);
GRANT insert, select ON journal_actions TO wardkeep_platform;
GRANT select ON journal_actions TO wardkeep_app;

CREATE TABLE journal_consumers (
  consumer text NOT NULL,
  xid xid8 NOT NULL,
  id bigint NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  failing_since timestamp(3) with time zone,
  error text,
  epoch bigint DEFAULT 0 NOT NULL,
  leased_until timestamp(3) with time zone,
  sequence bigint DEFAULT 0 NOT NULL,
  CONSTRAINT journal_consumers_pkey PRIMARY KEY (consumer)
);
GRANT delete, insert, select, update ON journal_consumers TO wardkeep_platform;

CREATE TABLE journal_marks (
  since timestamp(3) with time zone NOT NULL
);
GRANT select ON journal_marks TO wardkeep_platform;

CREATE TABLE journal_prunings (
  tenant_id bigint NOT NULL,
  until timestamp(3) with time zone NOT NULL,
  CONSTRAINT journal_prunings_pkey PRIMARY KEY (tenant_id)
);
ALTER TABLE journal_prunings ENABLE ROW LEVEL SECURITY;
ALTER TABLE journal_prunings FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON journal_prunings FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON journal_prunings FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT select ON journal_prunings TO wardkeep_app;
GRANT select ON journal_prunings TO wardkeep_platform;

CREATE TABLE journal_resources (
  tenant_id bigint NOT NULL,
  resource_type text NOT NULL,
  resource_id bigint NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  entry_id bigint NOT NULL,
  CONSTRAINT journal_resources_pkey PRIMARY KEY (tenant_id, resource_type, resource_id, created_at, entry_id)
) PARTITION BY RANGE (created_at);
ALTER TABLE journal_resources ENABLE ROW LEVEL SECURITY;
ALTER TABLE journal_resources FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON journal_resources FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON journal_resources FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
CREATE TRIGGER journal__append_only BEFORE DELETE OR UPDATE ON journal_resources FOR EACH ROW EXECUTE FUNCTION refuse_journal_change();
CREATE TRIGGER journal__no_truncate BEFORE TRUNCATE ON journal_resources FOR EACH STATEMENT EXECUTE FUNCTION refuse_journal_change();
GRANT insert, select ON journal_resources TO wardkeep_app;
GRANT insert, select ON journal_resources TO wardkeep_platform;

CREATE TABLE key_encryption_keys (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  wrapped_key bytea NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  retired_at timestamp(3) with time zone,
  CONSTRAINT key_encryption_keys_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX key_encryption_keys__one_current ON key_encryption_keys USING btree ((true)) WHERE retired_at IS NULL;
CREATE TRIGGER key_encryption_keys__destroyed AFTER DELETE ON key_encryption_keys FOR EACH ROW EXECUTE FUNCTION note_destroyed_key('key-encryption key');
GRANT delete, insert, select, update ON key_encryption_keys TO wardkeep_platform;
GRANT select ON key_encryption_keys TO wardkeep_app;

CREATE TABLE list_writes (
  xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
  list text NOT NULL,
  tenant_id bigint NOT NULL,
  CONSTRAINT list_writes_pkey PRIMARY KEY (xid, list, tenant_id)
);
ALTER TABLE list_writes ENABLE ROW LEVEL SECURITY;
ALTER TABLE list_writes FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON list_writes FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON list_writes FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select ON list_writes TO wardkeep_platform;
GRANT insert, select ON list_writes TO wardkeep_app;

CREATE TABLE lost_writes (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  server text NOT NULL,
  noticed_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  entries jsonb NOT NULL,
  closed_at timestamp(3) with time zone,
  CONSTRAINT lost_writes_pkey PRIMARY KEY (id),
  CONSTRAINT lost_writes__server UNIQUE (server)
);
GRANT insert, select, update ON lost_writes TO wardkeep_platform;

CREATE TABLE messenger_bot (
  one boolean DEFAULT true NOT NULL,
  leased_by text,
  leased_until timestamp(3) with time zone,
  epoch bigint DEFAULT 0 NOT NULL,
  state text DEFAULT 'new'::text NOT NULL,
  bot_id bigint,
  username text,
  next_update bigint,
  read_at timestamp(3) with time zone,
  CONSTRAINT messenger_bot_pkey PRIMARY KEY (one),
  CONSTRAINT messenger_bot_one_check CHECK (one),
  CONSTRAINT messenger_bot_state_check CHECK (state = ANY (ARRAY['new'::text, 'ok'::text, 'deaf'::text, 'conflict'::text, 'refused'::text, 'away'::text]))
);
GRANT insert, select, update ON messenger_bot TO wardkeep_platform;

CREATE TABLE messenger_chats (
  hash bytea NOT NULL,
  due_at timestamp(3) with time zone,
  free_at timestamp(3) with time zone,
  digest_at timestamp(3) with time zone,
  gap integer DEFAULT 0 NOT NULL,
  failures integer DEFAULT 0 NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT messenger_chats_pkey PRIMARY KEY (hash)
) WITH (fillfactor=50);
CREATE INDEX messenger_chats__created ON messenger_chats USING btree (created_at) WHERE due_at IS NULL;
CREATE INDEX messenger_chats__due ON messenger_chats USING btree (due_at) WHERE due_at IS NOT NULL;
GRANT delete, insert, select, update ON messenger_chats TO wardkeep_platform;

CREATE TABLE messenger_codes (
  chat_hash bytea NOT NULL,
  code_hash bytea NOT NULL,
  sealed_chat bytea NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT messenger_codes_pkey PRIMARY KEY (chat_hash),
  CONSTRAINT messenger_codes__code UNIQUE (code_hash)
);
CREATE INDEX messenger_codes__expired ON messenger_codes USING btree (expires_at);
GRANT delete, insert, select, update ON messenger_codes TO wardkeep_platform;

CREATE TABLE messenger_links (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  user_id bigint NOT NULL,
  chat_hash bytea NOT NULL,
  sealed_chat bytea NOT NULL,
  linked_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  refusals integer DEFAULT 0 NOT NULL,
  refused_since timestamp(3) with time zone,
  data_key_id bigint GENERATED ALWAYS AS (sealed_by(sealed_chat)) STORED NOT NULL,
  CONSTRAINT messenger_links_pkey PRIMARY KEY (id),
  CONSTRAINT messenger_links__chat UNIQUE (chat_hash),
  CONSTRAINT messenger_links__of_tenant UNIQUE (tenant_id, id),
  CONSTRAINT messenger_links__of_user UNIQUE (tenant_id, user_id),
  CONSTRAINT messenger_links__data_key FOREIGN KEY (data_key_id) REFERENCES data_keys(id) DEFERRABLE,
  CONSTRAINT messenger_links__user FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX messenger_links__by_data_key ON messenger_links USING btree (data_key_id, id);
ALTER TABLE messenger_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE messenger_links FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON messenger_links FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON messenger_links FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON messenger_links TO wardkeep_app;
GRANT delete, insert, select, update ON messenger_links TO wardkeep_platform;

CREATE TABLE messenger_notices (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  link_id bigint NOT NULL,
  entry_id bigint NOT NULL,
  event_at timestamp(3) with time zone NOT NULL,
  action text NOT NULL,
  is_own boolean NOT NULL,
  queued_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT messenger_notices_pkey PRIMARY KEY (id),
  CONSTRAINT messenger_notices__link FOREIGN KEY (tenant_id, link_id) REFERENCES messenger_links(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX messenger_notices__of_link ON messenger_notices USING btree (tenant_id, link_id, id);
CREATE INDEX messenger_notices__old ON messenger_notices USING btree (event_at);
ALTER TABLE messenger_notices ENABLE ROW LEVEL SECURITY;
ALTER TABLE messenger_notices FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON messenger_notices FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON messenger_notices FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select ON messenger_notices TO wardkeep_app;
GRANT delete, insert, select ON messenger_notices TO wardkeep_platform;

CREATE TABLE messenger_replies (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  chat_hash bytea NOT NULL,
  is_answer boolean NOT NULL,
  sealed_reply bytea NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT messenger_replies_pkey PRIMARY KEY (id),
  CONSTRAINT messenger_replies__chat FOREIGN KEY (chat_hash) REFERENCES messenger_chats(hash) ON DELETE CASCADE
);
CREATE INDEX messenger_replies__expired ON messenger_replies USING btree (expires_at);
CREATE INDEX messenger_replies__of_chat ON messenger_replies USING btree (chat_hash, id);
CREATE UNIQUE INDEX messenger_replies__one_answer ON messenger_replies USING btree (chat_hash) WHERE is_answer;
GRANT delete, insert, select ON messenger_replies TO wardkeep_platform;
GRANT insert ON messenger_replies TO wardkeep_app;
GRANT update (sealed_reply) ON messenger_replies TO wardkeep_platform;

CREATE TABLE messenger_subscriptions (
  user_id bigint NOT NULL,
  tenant_id bigint NOT NULL,
  events text[] NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT messenger_subscriptions_pkey PRIMARY KEY (user_id),
  CONSTRAINT messenger_subscriptions__user FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX messenger_subscriptions__of_user ON messenger_subscriptions USING btree (tenant_id, user_id);
ALTER TABLE messenger_subscriptions ENABLE ROW LEVEL SECURITY;
ALTER TABLE messenger_subscriptions FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON messenger_subscriptions FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON messenger_subscriptions FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON messenger_subscriptions TO wardkeep_app;
GRANT delete, insert, select, update ON messenger_subscriptions TO wardkeep_platform;

CREATE TABLE messenger_updates (
  bot_id bigint NOT NULL,
  update_id bigint NOT NULL,
  taken_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT messenger_updates_pkey PRIMARY KEY (bot_id, update_id)
);
CREATE INDEX messenger_updates__taken ON messenger_updates USING btree (taken_at);
GRANT delete, insert, select ON messenger_updates TO wardkeep_platform;

CREATE TABLE migrations (
  version integer NOT NULL,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT migrations_pkey PRIMARY KEY (version)
);
GRANT select ON migrations TO wardkeep_platform;

CREATE TABLE patient_cache_faults (
  node text NOT NULL,
  tenant_id bigint NOT NULL,
  patient_id bigint NOT NULL,
  differs text[] NOT NULL,
  held_version integer NOT NULL,
  version integer,
  entries integer NOT NULL,
  since timestamp(3) with time zone DEFAULT now() NOT NULL,
  seen_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT patient_cache_faults_pkey PRIMARY KEY (node, patient_id),
  CONSTRAINT patient_cache_faults_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX patient_cache_faults__of_patient ON patient_cache_faults USING btree (tenant_id, patient_id);
ALTER TABLE patient_cache_faults ENABLE ROW LEVEL SECURITY;
ALTER TABLE patient_cache_faults FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON patient_cache_faults FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON patient_cache_faults FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON patient_cache_faults TO wardkeep_app;
GRANT delete, insert, select, update ON patient_cache_faults TO wardkeep_platform;

CREATE TABLE patient_grants (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  patient_id bigint NOT NULL,
  user_id bigint NOT NULL,
  purpose text NOT NULL,
  sealed_reason bytea NOT NULL,
  granted_at timestamp(3) with time zone NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  ended_at timestamp(3) with time zone,
  data_key_id bigint GENERATED ALWAYS AS (sealed_by(sealed_reason)) STORED NOT NULL,
  CONSTRAINT patient_grants_pkey PRIMARY KEY (id),
  CONSTRAINT patient_grants_purpose_check CHECK (purpose = ANY (ARRAY['emergency'::text, 'treatment'::text, 'other'::text])),
  CONSTRAINT patient_grants__data_key FOREIGN KEY (data_key_id) REFERENCES data_keys(id) DEFERRABLE,
  CONSTRAINT patient_grants__patient FOREIGN KEY (tenant_id, patient_id) REFERENCES patients(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX patient_grants__by_data_key ON patient_grants USING btree (data_key_id, id);
CREATE INDEX patient_grants__of_patient ON patient_grants USING btree (tenant_id, patient_id, id);
CREATE INDEX patient_grants__of_user ON patient_grants USING btree (tenant_id, user_id, granted_at, patient_id);
ALTER TABLE patient_grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE patient_grants FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON patient_grants FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON patient_grants FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON patient_grants TO wardkeep_app;
GRANT delete, insert, select, update ON patient_grants TO wardkeep_platform;

CREATE TABLE patient_tokens (
  tenant_id bigint NOT NULL,
  patient_id bigint NOT NULL,
  kind smallint NOT NULL,
  token bytea NOT NULL,
  data_key_id bigint NOT NULL,
  is_living boolean DEFAULT true NOT NULL,
  CONSTRAINT patient_tokens_pkey PRIMARY KEY (patient_id, token),
  CONSTRAINT patient_tokens_kind_check CHECK (kind >= 1 AND kind <= 6),
  CONSTRAINT patient_tokens_token_check CHECK (octet_length(token) = 16),
  CONSTRAINT patient_tokens__data_key FOREIGN KEY (data_key_id) REFERENCES data_keys(id) DEFERRABLE,
  CONSTRAINT patient_tokens__patient FOREIGN KEY (tenant_id, patient_id) REFERENCES patients(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX patient_tokens__by_data_key ON patient_tokens USING btree (data_key_id, patient_id);
CREATE INDEX patient_tokens__by_token ON patient_tokens USING btree (tenant_id, token) INCLUDE (patient_id);
CREATE UNIQUE INDEX patient_tokens__identifier ON patient_tokens USING btree (tenant_id, token) WHERE kind = 4 AND is_living;
ALTER TABLE patient_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE patient_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON patient_tokens FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON patient_tokens FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON patient_tokens TO wardkeep_app;
GRANT delete, insert, select, update ON patient_tokens TO wardkeep_platform;

CREATE TABLE patients (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  department_id bigint,
  attending_doctor_id bigint,
  version integer DEFAULT 1 NOT NULL,
  sealed_full_name bytea NOT NULL,
  sealed_birth_date bytea,
  sealed_sex bytea,
  sealed_identifiers bytea NOT NULL,
  sealed_phone bytea,
  sealed_email bytea,
  sealed_address bytea,
  sealed_allergies bytea NOT NULL,
  sealed_notes bytea,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  deleted_at timestamp(3) with time zone,
  data_key_id bigint GENERATED ALWAYS AS (sealed_by(sealed_full_name)) STORED NOT NULL,
  fold_version smallint DEFAULT 1 NOT NULL,
  CONSTRAINT patients_pkey PRIMARY KEY (id),
  CONSTRAINT patients_tenant_id_id_key UNIQUE (tenant_id, id),
  CONSTRAINT patients__sealed_address_key CHECK (sealed_by(sealed_address) = data_key_id),
  CONSTRAINT patients__sealed_allergies_key CHECK (sealed_by(sealed_allergies) = data_key_id),
  CONSTRAINT patients__sealed_birth_date_key CHECK (sealed_by(sealed_birth_date) = data_key_id),
  CONSTRAINT patients__sealed_email_key CHECK (sealed_by(sealed_email) = data_key_id),
  CONSTRAINT patients__sealed_identifiers_key CHECK (sealed_by(sealed_identifiers) = data_key_id),
  CONSTRAINT patients__sealed_notes_key CHECK (sealed_by(sealed_notes) = data_key_id),
  CONSTRAINT patients__sealed_phone_key CHECK (sealed_by(sealed_phone) = data_key_id),
  CONSTRAINT patients__sealed_sex_key CHECK (sealed_by(sealed_sex) = data_key_id),
  CONSTRAINT patients__attending_doctor FOREIGN KEY (tenant_id, attending_doctor_id) REFERENCES users(tenant_id, id) ON DELETE SET NULL (attending_doctor_id),
  CONSTRAINT patients__data_key FOREIGN KEY (data_key_id) REFERENCES data_keys(id) DEFERRABLE,
  CONSTRAINT patients__department FOREIGN KEY (tenant_id, department_id) REFERENCES departments(tenant_id, id) ON DELETE SET NULL (department_id),
  CONSTRAINT patients_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX patients__by_created ON patients USING btree (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX patients__by_data_key ON patients USING btree (data_key_id, id);
CREATE INDEX patients__by_department ON patients USING btree (tenant_id, department_id, id);
CREATE INDEX patients__by_doctor ON patients USING btree (tenant_id, attending_doctor_id, id);
CREATE INDEX patients__by_updated ON patients USING btree (tenant_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX patients__deleted ON patients USING btree (tenant_id, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX patients__living ON patients USING btree (tenant_id, id) WHERE deleted_at IS NULL;
CREATE INDEX patients__old_fold ON patients USING btree (fold_version, id);
CREATE INDEX patients__to_purge ON patients USING btree (deleted_at) WHERE deleted_at IS NOT NULL;
ALTER TABLE patients ENABLE ROW LEVEL SECURITY;
ALTER TABLE patients FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON patients FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON patients FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
CREATE TRIGGER patients__come AFTER INSERT ON patients REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION note_list_rows();
CREATE TRIGGER patients__go AFTER DELETE ON patients REFERENCING OLD TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION note_list_rows();
CREATE TRIGGER patients__move AFTER UPDATE ON patients FOR EACH ROW WHEN (old.tenant_id IS DISTINCT FROM new.tenant_id OR old.department_id IS DISTINCT FROM new.department_id OR old.attending_doctor_id IS DISTINCT FROM new.attending_doctor_id OR (old.deleted_at IS NULL) IS DISTINCT FROM (new.deleted_at IS NULL)) EXECUTE FUNCTION note_list_row('tenant_id');
GRANT delete, insert, select, update ON patients TO wardkeep_app;
GRANT delete, insert, select, update ON patients TO wardkeep_platform;

CREATE TABLE payment_notifications (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint,
  provider text NOT NULL,
  event_key text NOT NULL,
  type text NOT NULL,
  provider_payment_id text,
  payment_id bigint,
  state text NOT NULL,
  reason text,
  holds_key boolean NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  tries integer DEFAULT 0 NOT NULL,
  times_received integer DEFAULT 1 NOT NULL,
  received_at timestamp(3) with time zone NOT NULL,
  armed_at timestamp(3) with time zone NOT NULL,
  waiting_since timestamp(3) with time zone,
  verified_at timestamp(3) with time zone,
  processed_at timestamp(3) with time zone,
  due_at timestamp(3) with time zone,
  leased_until timestamp(3) with time zone,
  seal_id uuid NOT NULL,
  sealed_body bytea NOT NULL,
  sealed_signature bytea,
  data_key_id bigint GENERATED ALWAYS AS (sealed_by(sealed_body)) STORED NOT NULL,
  CONSTRAINT payment_notifications_pkey PRIMARY KEY (id),
  CONSTRAINT payment_notifications__due CHECK ((state = 'received'::text) = (due_at IS NOT NULL)),
  CONSTRAINT payment_notifications__lease CHECK (state = 'received'::text OR leased_until IS NULL),
  CONSTRAINT payment_notifications__sealed_signature_key CHECK (sealed_by(sealed_signature) = data_key_id),
  CONSTRAINT payment_notifications__waiting CHECK ((state = 'received'::text) = (waiting_since IS NOT NULL)),
  CONSTRAINT payment_notifications_provider_check CHECK (provider = ANY (ARRAY['cardnet'::text, 'paygate'::text])),
  CONSTRAINT payment_notifications_state_check CHECK (state = ANY (ARRAY['received'::text, 'applied'::text, 'superseded'::text, 'ignored'::text, 'unverified'::text, 'failed'::text])),
  CONSTRAINT payment_notifications__data_key FOREIGN KEY (data_key_id) REFERENCES data_keys(id) DEFERRABLE
);
CREATE INDEX payment_notifications__arrived ON payment_notifications USING btree (tenant_id, received_at, id) WHERE tenant_id IS NOT NULL;
CREATE INDEX payment_notifications__by_data_key ON payment_notifications USING btree (data_key_id, id);
CREATE INDEX payment_notifications__by_reason ON payment_notifications USING btree (reason, id) INCLUDE (tenant_id) WHERE reason IS NOT NULL;
CREATE INDEX payment_notifications__by_state ON payment_notifications USING btree (state, id) INCLUDE (tenant_id) WHERE state <> ALL (ARRAY['received'::text, 'applied'::text]);
CREATE INDEX payment_notifications__due_at ON payment_notifications USING btree (provider, GREATEST(due_at, leased_until)) WHERE state = 'received'::text;
CREATE UNIQUE INDEX payment_notifications__event ON payment_notifications USING btree (provider, event_key) WHERE holds_key;
CREATE INDEX payment_notifications__of_payment ON payment_notifications USING btree (tenant_id, payment_id, id) WHERE payment_id IS NOT NULL;
CREATE INDEX payment_notifications__of_provider ON payment_notifications USING btree (provider, id);
CREATE INDEX payment_notifications__of_tenant ON payment_notifications USING btree (tenant_id, id) WHERE tenant_id IS NOT NULL;
CREATE INDEX payment_notifications__received ON payment_notifications USING btree (received_at, id);
CREATE INDEX payment_notifications__with_reason ON payment_notifications USING btree (tenant_id, reason, id) WHERE reason IS NOT NULL;
CREATE INDEX payment_notifications__with_state ON payment_notifications USING btree (tenant_id, state, id) WHERE state <> ALL (ARRAY['received'::text, 'applied'::text]);
ALTER TABLE payment_notifications ENABLE ROW LEVEL SECURITY;
ALTER TABLE payment_notifications FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON payment_notifications FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON payment_notifications FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON payment_notifications TO wardkeep_app;
GRANT delete, insert, select, update ON payment_notifications TO wardkeep_platform;

CREATE TABLE payment_reconciliations (
  provider text NOT NULL,
  reconciled_to timestamp(3) with time zone,
  due_at timestamp(3) with time zone NOT NULL,
  leased_until timestamp(3) with time zone,
  attempts integer DEFAULT 0 NOT NULL,
  failures integer DEFAULT 0 NOT NULL,
  is_refused boolean DEFAULT false NOT NULL,
  CONSTRAINT payment_reconciliations_pkey PRIMARY KEY (provider),
  CONSTRAINT payment_reconciliations_provider_check CHECK (provider = ANY (ARRAY['cardnet'::text, 'paygate'::text]))
);
GRANT delete, insert, select, update ON payment_reconciliations TO wardkeep_platform;

CREATE TABLE payments (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  provider text NOT NULL,
  provider_payment_id text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  amount_refunded bigint NOT NULL,
  currency text NOT NULL,
  currency_exponent smallint NOT NULL,
  said_at bigint NOT NULL,
  test boolean DEFAULT false NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT payments_pkey PRIMARY KEY (id),
  CONSTRAINT payments__of_provider UNIQUE (provider, provider_payment_id),
  CONSTRAINT payments__of_tenant UNIQUE (tenant_id, id),
  CONSTRAINT payments__amounts CHECK (amount_refunded >= 0 AND amount_refunded <= amount),
  CONSTRAINT payments_provider_check CHECK (provider = ANY (ARRAY['cardnet'::text, 'paygate'::text])),
  CONSTRAINT payments_status_check CHECK (status = ANY (ARRAY['pending'::text, 'authorized'::text, 'failed'::text, 'canceled'::text, 'succeeded'::text, 'partially_refunded'::text, 'refunded'::text])),
  CONSTRAINT payments_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX payments__by_status ON payments USING btree (status, id) INCLUDE (tenant_id) WHERE status <> 'succeeded'::text;
CREATE INDEX payments__by_time ON payments USING btree (created_at, id);
CREATE INDEX payments__created ON payments USING btree (tenant_id, created_at, id);
CREATE INDEX payments__with_currency ON payments USING btree (currency, id) INCLUDE (tenant_id);
CREATE INDEX payments__with_status ON payments USING btree (tenant_id, status, id) WHERE status <> 'succeeded'::text;
ALTER TABLE payments ENABLE ROW LEVEL SECURITY;
ALTER TABLE payments FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON payments FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON payments FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON payments TO wardkeep_app;
GRANT delete, insert, select, update ON payments TO wardkeep_platform;

CREATE TABLE pgboss.bam (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  name text NOT NULL,
  version integer NOT NULL,
  status text DEFAULT 'pending'::text NOT NULL,
  queue text,
  table_name text NOT NULL,
  command text NOT NULL,
  error text,
  created_on timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  started_on timestamp with time zone,
  completed_on timestamp with time zone,
  CONSTRAINT bam_pkey PRIMARY KEY (id)
);
GRANT delete, insert, select, update ON pgboss.bam TO wardkeep_platform;

CREATE TABLE pgboss.job (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  name text NOT NULL,
  priority integer DEFAULT 0 NOT NULL,
  data jsonb,
  state pgboss.job_state DEFAULT 'created'::pgboss.job_state NOT NULL,
  retry_limit integer DEFAULT 2 NOT NULL,
  retry_count integer DEFAULT 0 NOT NULL,
  retry_delay integer DEFAULT 0 NOT NULL,
  retry_backoff boolean DEFAULT false NOT NULL,
  retry_delay_max integer,
  expire_seconds integer DEFAULT 900 NOT NULL,
  deletion_seconds integer DEFAULT 604800 NOT NULL,
  singleton_key text,
  singleton_on timestamp without time zone,
  group_id text,
  group_tier text,
  start_after timestamp with time zone DEFAULT now() NOT NULL,
  created_on timestamp with time zone DEFAULT now() NOT NULL,
  started_on timestamp with time zone,
  completed_on timestamp with time zone,
  keep_until timestamp with time zone DEFAULT now() + '336:00:00'::interval NOT NULL,
  output jsonb,
  dead_letter text,
  policy text,
  heartbeat_on timestamp with time zone,
  heartbeat_seconds integer,
  blocked boolean DEFAULT false NOT NULL,
  blocking boolean DEFAULT false NOT NULL,
  pending_dependencies integer DEFAULT 0 NOT NULL,
  source_name text,
  source_id uuid,
  source_created_on timestamp with time zone,
  source_retry_count integer,
  source_output jsonb,
  source_root_id uuid,
  CONSTRAINT job_pkey PRIMARY KEY (name, id)
) PARTITION BY LIST (name);
GRANT delete, insert, select, update ON pgboss.job TO wardkeep_platform;

CREATE TABLE pgboss.job_dependency (
  child_name text NOT NULL,
  child_id uuid NOT NULL,
  parent_name text NOT NULL,
  parent_id uuid NOT NULL,
  CONSTRAINT job_dependency_pkey PRIMARY KEY (child_name, child_id, parent_name, parent_id)
);
CREATE INDEX job_dep_parent_idx ON pgboss.job_dependency USING btree (parent_name, parent_id);
GRANT delete, insert, select, update ON pgboss.job_dependency TO wardkeep_platform;

CREATE TABLE pgboss.queue (
  name text NOT NULL,
  policy text NOT NULL,
  retry_limit integer NOT NULL,
  retry_delay integer NOT NULL,
  retry_backoff boolean NOT NULL,
  retry_delay_max integer,
  expire_seconds integer NOT NULL,
  retention_seconds integer NOT NULL,
  deletion_seconds integer NOT NULL,
  dead_letter text,
  partition boolean NOT NULL,
  table_name text NOT NULL,
  deferred_count integer DEFAULT 0 NOT NULL,
  queued_count integer DEFAULT 0 NOT NULL,
  ready_count integer DEFAULT 0 NOT NULL,
  warning_queued integer DEFAULT 0 NOT NULL,
  active_count integer DEFAULT 0 NOT NULL,
  failed_count integer DEFAULT 0 NOT NULL,
  total_count integer DEFAULT 0 NOT NULL,
  created_delta integer DEFAULT 0 NOT NULL,
  completed_delta integer DEFAULT 0 NOT NULL,
  failed_delta integer DEFAULT 0 NOT NULL,
  delta_on timestamp with time zone,
  delta_seconds integer,
  ready_history integer[] DEFAULT '{}'::integer[] NOT NULL,
  heartbeat_seconds integer,
  notify boolean DEFAULT false NOT NULL,
  singletons_active text[],
  monitor_claim_on timestamp with time zone,
  monitor_on timestamp with time zone,
  maintain_on timestamp with time zone,
  created_on timestamp with time zone DEFAULT now() NOT NULL,
  updated_on timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT queue_pkey PRIMARY KEY (name),
  CONSTRAINT queue_check CHECK (dead_letter IS DISTINCT FROM name),
  CONSTRAINT queue_dead_letter_fkey FOREIGN KEY (dead_letter) REFERENCES pgboss.queue(name)
);
GRANT delete, insert, select, update ON pgboss.queue TO wardkeep_platform;
GRANT select ON pgboss.queue TO wardkeep_app;

CREATE TABLE pgboss.queue_stats (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  name text NOT NULL,
  deferred_count integer DEFAULT 0 NOT NULL,
  queued_count integer DEFAULT 0 NOT NULL,
  ready_count integer DEFAULT 0 NOT NULL,
  active_count integer DEFAULT 0 NOT NULL,
  failed_count integer DEFAULT 0 NOT NULL,
  total_count integer DEFAULT 0 NOT NULL,
  created_delta integer,
  completed_delta integer,
  failed_delta integer,
  delta_seconds integer,
  delta_on timestamp with time zone,
  captured_on timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT queue_stats_pkey PRIMARY KEY (id, captured_on)
) PARTITION BY RANGE (captured_on);
CREATE INDEX queue_stats_i1 ON pgboss.queue_stats USING btree (name, captured_on DESC) INCLUDE (deferred_count, queued_count, ready_count, active_count, failed_count, total_count);
GRANT delete, insert, select, update ON pgboss.queue_stats TO wardkeep_platform;

CREATE TABLE pgboss.schedule (
  name text NOT NULL,
  key text DEFAULT ''::text NOT NULL,
  kind text DEFAULT 'cron'::text NOT NULL,
  cron text NOT NULL,
  timezone text DEFAULT 'UTC'::text,
  data jsonb,
  options jsonb,
  created_on timestamp with time zone DEFAULT now() NOT NULL,
  updated_on timestamp with time zone DEFAULT now() NOT NULL,
  last_job_id uuid,
  CONSTRAINT schedule_pkey PRIMARY KEY (name, key),
  CONSTRAINT schedule_kind_check CHECK (kind = ANY (ARRAY['cron'::text, 'rrule'::text])),
  CONSTRAINT schedule_name_fkey FOREIGN KEY (name) REFERENCES pgboss.queue(name) ON DELETE CASCADE
);
GRANT delete, insert, select, update ON pgboss.schedule TO wardkeep_platform;

CREATE TABLE pgboss.subscription (
  event text NOT NULL,
  name text NOT NULL,
  created_on timestamp with time zone DEFAULT now() NOT NULL,
  updated_on timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT subscription_pkey PRIMARY KEY (event, name),
  CONSTRAINT subscription_name_fkey FOREIGN KEY (name) REFERENCES pgboss.queue(name) ON DELETE CASCADE
);
GRANT delete, insert, select, update ON pgboss.subscription TO wardkeep_platform;

CREATE TABLE pgboss.version (
  version integer NOT NULL,
  cron_on timestamp with time zone,
  bam_on timestamp with time zone,
  flow_on timestamp with time zone,
  reindex_on timestamp with time zone,
  monitor_backoff_on timestamp with time zone,
  CONSTRAINT version_pkey PRIMARY KEY (version)
);
GRANT delete, insert, select, update ON pgboss.version TO wardkeep_platform;

CREATE TABLE pgboss.warning (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  type text NOT NULL,
  message text NOT NULL,
  data jsonb,
  created_on timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT warning_pkey PRIMARY KEY (id)
);
CREATE INDEX warning_i1 ON pgboss.warning USING btree (created_on DESC);
GRANT delete, insert, select, update ON pgboss.warning TO wardkeep_platform;

CREATE TABLE preferences (
  user_id bigint NOT NULL,
  tenant_id bigint NOT NULL,
  theme text NOT NULL,
  settings jsonb NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT preferences_pkey PRIMARY KEY (user_id),
  CONSTRAINT preferences__user FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE
);
ALTER TABLE preferences ENABLE ROW LEVEL SECURITY;
ALTER TABLE preferences FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON preferences FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON preferences FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON preferences TO wardkeep_app;
GRANT delete, insert, select, update ON preferences TO wardkeep_platform;

CREATE TABLE purged_patients (
  id bigint NOT NULL,
  tenant_id bigint NOT NULL,
  purged_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
  noted_at timestamp(3) with time zone,
  CONSTRAINT purged_patients_pkey PRIMARY KEY (id),
  CONSTRAINT purged_patients_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX purged_patients__of_tenant ON purged_patients USING btree (tenant_id);
CREATE INDEX purged_patients__unnoted ON purged_patients USING btree (id) WHERE noted_at IS NULL;
ALTER TABLE purged_patients ENABLE ROW LEVEL SECURITY;
ALTER TABLE purged_patients FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON purged_patients FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON purged_patients FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON purged_patients TO wardkeep_platform;
GRANT select ON purged_patients TO wardkeep_app;

CREATE TABLE purged_tenants (
  id bigint NOT NULL,
  purged_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
  backups uuid[] DEFAULT '{}'::uuid[] NOT NULL,
  erased_at timestamp(3) with time zone,
  CONSTRAINT purged_tenants_pkey PRIMARY KEY (id)
);
GRANT insert, select, update ON purged_tenants TO wardkeep_platform;

CREATE TABLE recovery_codes (
  user_id bigint NOT NULL,
  tenant_id bigint NOT NULL,
  code_hash bytea NOT NULL,
  used_at timestamp(3) with time zone,
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash),
  CONSTRAINT recovery_codes__user FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE
);
ALTER TABLE recovery_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE recovery_codes FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON recovery_codes FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON recovery_codes FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON recovery_codes TO wardkeep_app;
GRANT delete, insert, select, update ON recovery_codes TO wardkeep_platform;

CREATE TABLE refresh_tokens (
  token_hash bytea NOT NULL,
  tenant_id bigint NOT NULL,
  session_id uuid NOT NULL,
  issued_at timestamp(3) with time zone NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  spent_at timestamp(3) with time zone,
  successor_salt bytea,
  CONSTRAINT refresh_tokens_pkey PRIMARY KEY (token_hash),
  CONSTRAINT refresh_tokens__session FOREIGN KEY (tenant_id, session_id) REFERENCES sessions(tenant_id, id) ON DELETE CASCADE
) WITH (fillfactor=75);
CREATE INDEX refresh_tokens__by_session ON refresh_tokens USING btree (tenant_id, session_id);
CREATE INDEX refresh_tokens__expired ON refresh_tokens USING btree (expires_at);
ALTER TABLE refresh_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE refresh_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON refresh_tokens FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON refresh_tokens FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON refresh_tokens TO wardkeep_app;
GRANT delete, insert, select, update ON refresh_tokens TO wardkeep_platform;

CREATE TABLE refusals (
  tenant_id bigint NOT NULL,
  session_id uuid NOT NULL,
  operation text NOT NULL,
  code text NOT NULL,
  count integer NOT NULL,
  first_at timestamp(3) with time zone NOT NULL,
  last_at timestamp(3) with time zone NOT NULL,
  user_id bigint NOT NULL,
  user_email text NOT NULL,
  ip text NOT NULL,
  user_agent text,
  request_id uuid NOT NULL,
  CONSTRAINT refusals_pkey PRIMARY KEY (session_id, operation, code)
) WITH (fillfactor=50);
ALTER TABLE refusals ENABLE ROW LEVEL SECURITY;
ALTER TABLE refusals FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON refusals FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON refusals FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON refusals TO wardkeep_app;
GRANT delete, insert, select, update ON refusals TO wardkeep_platform;

CREATE TABLE root_keys (
  fingerprint text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  retired_at timestamp(3) with time zone,
  sealed_key bytea,
  CONSTRAINT root_keys_pkey PRIMARY KEY (fingerprint),
  CONSTRAINT root_keys__current_is_given CHECK (retired_at IS NOT NULL OR sealed_key IS NULL),
  CONSTRAINT root_keys_fingerprint_check CHECK (fingerprint ~ '^[0-9a-f]{16}$'::text)
);
CREATE UNIQUE INDEX root_keys__one_current ON root_keys USING btree ((true)) WHERE retired_at IS NULL;
GRANT insert, select, update ON root_keys TO wardkeep_platform;

CREATE TABLE second_factors (
  user_id bigint NOT NULL,
  tenant_id bigint NOT NULL,
  sealed_secret bytea NOT NULL,
  confirmed_at timestamp(3) with time zone,
  last_step bigint DEFAULT 0 NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  data_key_id bigint GENERATED ALWAYS AS (sealed_by(sealed_secret)) STORED NOT NULL,
  CONSTRAINT second_factors_pkey PRIMARY KEY (user_id),
  CONSTRAINT second_factors__data_key FOREIGN KEY (data_key_id) REFERENCES data_keys(id) DEFERRABLE,
  CONSTRAINT second_factors__user FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX second_factors__by_data_key ON second_factors USING btree (data_key_id, user_id);
ALTER TABLE second_factors ENABLE ROW LEVEL SECURITY;
ALTER TABLE second_factors FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON second_factors FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON second_factors FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON second_factors TO wardkeep_app;
GRANT delete, insert, select, update ON second_factors TO wardkeep_platform;

CREATE TABLE self_healing_findings (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  fix_id bigint NOT NULL,
  tenant_id bigint,
  subject text NOT NULL,
  measured jsonb NOT NULL,
  expected jsonb NOT NULL,
  first_seen timestamp(3) with time zone NOT NULL,
  last_seen timestamp(3) with time zone NOT NULL,
  round integer NOT NULL,
  proposed_at timestamp(3) with time zone,
  CONSTRAINT self_healing_findings_pkey PRIMARY KEY (id),
  CONSTRAINT self_healing_findings__subject UNIQUE NULLS NOT DISTINCT (fix_id, tenant_id, subject),
  CONSTRAINT self_healing_findings_fix_id_fkey FOREIGN KEY (fix_id) REFERENCES self_healing_fixes(id) ON DELETE CASCADE,
  CONSTRAINT self_healing_findings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX self_healing_findings__tenant ON self_healing_findings USING btree (tenant_id);
ALTER TABLE self_healing_findings ENABLE ROW LEVEL SECURITY;
ALTER TABLE self_healing_findings FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON self_healing_findings FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON self_healing_findings FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON self_healing_findings TO wardkeep_platform;
GRANT select ON self_healing_findings TO wardkeep_app;

CREATE TABLE self_healing_fixes (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  key text NOT NULL,
  title text NOT NULL,
  description text NOT NULL,
  plan text NOT NULL,
  severity text NOT NULL,
  automatic boolean NOT NULL,
  status text DEFAULT 'idle'::text NOT NULL,
  reason text,
  unknown text,
  occurrences integer DEFAULT 0 NOT NULL,
  looked_at bigint,
  last_detected_at timestamp(3) with time zone,
  applied_at timestamp(3) with time zone,
  applied_by bigint,
  result jsonb,
  "position" text,
  round integer DEFAULT 0 NOT NULL,
  applications integer DEFAULT 0 NOT NULL,
  failures integer DEFAULT 0 NOT NULL,
  deleted_at timestamp(3) with time zone,
  CONSTRAINT self_healing_fixes_pkey PRIMARY KEY (id),
  CONSTRAINT self_healing_fixes__key UNIQUE (key),
  CONSTRAINT self_healing_fixes_severity_check CHECK (severity = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text, 'critical'::text])),
  CONSTRAINT self_healing_fixes_status_check CHECK (status = ANY (ARRAY['idle'::text, 'proposed'::text, 'applied'::text, 'failed'::text]))
);
GRANT insert, select, update ON self_healing_fixes TO wardkeep_platform;

CREATE TABLE self_healing_repairs (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  fix_id bigint NOT NULL,
  tenant_id bigint,
  subject text NOT NULL,
  at timestamp(3) with time zone NOT NULL,
  CONSTRAINT self_healing_repairs_pkey PRIMARY KEY (id),
  CONSTRAINT self_healing_repairs_fix_id_fkey FOREIGN KEY (fix_id) REFERENCES self_healing_fixes(id) ON DELETE CASCADE,
  CONSTRAINT self_healing_repairs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX self_healing_repairs__fix ON self_healing_repairs USING btree (fix_id, at);
CREATE INDEX self_healing_repairs__tenant ON self_healing_repairs USING btree (tenant_id);
ALTER TABLE self_healing_repairs ENABLE ROW LEVEL SECURITY;
ALTER TABLE self_healing_repairs FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON self_healing_repairs FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON self_healing_repairs FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select ON self_healing_repairs TO wardkeep_platform;
GRANT select ON self_healing_repairs TO wardkeep_app;

CREATE TABLE self_healing_scans (
  one boolean DEFAULT true NOT NULL,
  at timestamp(3) with time zone NOT NULL,
  duration_ms integer NOT NULL,
  looked_at integer NOT NULL,
  unknown integer NOT NULL,
  CONSTRAINT self_healing_scans_pkey PRIMARY KEY (one),
  CONSTRAINT self_healing_scans_one_check CHECK (one)
);
GRANT insert, select, update ON self_healing_scans TO wardkeep_platform;

CREATE TABLE service_key (
  id integer DEFAULT 1 NOT NULL,
  sealed_key bytea NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT service_key_pkey PRIMARY KEY (id),
  CONSTRAINT service_key_id_check CHECK (id = 1)
);
GRANT delete, insert, select ON service_key TO wardkeep_platform;
GRANT update (sealed_key) ON service_key TO wardkeep_platform;

CREATE TABLE sessions (
  id uuid NOT NULL,
  tenant_id bigint NOT NULL,
  user_id bigint NOT NULL,
  signed_in_from text,
  ip text,
  user_agent text,
  created_at timestamp(3) with time zone NOT NULL,
  last_used_at timestamp(3) with time zone NOT NULL,
  idle_seconds integer NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  absolute_expires_at timestamp(3) with time zone NOT NULL,
  ended_at timestamp(3) with time zone,
  end_reason text,
  is_console boolean DEFAULT false NOT NULL,
  confirmed_until timestamp(3) with time zone,
  CONSTRAINT sessions_pkey PRIMARY KEY (id),
  CONSTRAINT sessions_tenant_id_id_key UNIQUE (tenant_id, id),
  CONSTRAINT sessions__user FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE
) WITH (fillfactor=75);
CREATE INDEX sessions__by_user ON sessions USING btree (tenant_id, user_id, signed_in_from);
CREATE INDEX sessions__ended ON sessions USING btree (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX sessions__expired ON sessions USING btree (absolute_expires_at);
CREATE INDEX sessions__live ON sessions USING btree (tenant_id, user_id, created_at) WHERE ended_at IS NULL;
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON sessions FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON sessions FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON sessions TO wardkeep_app;
GRANT delete, insert, select, update ON sessions TO wardkeep_platform;

CREATE TABLE signing_keys (
  kid text NOT NULL,
  public_jwk jsonb NOT NULL,
  sealed_private_key bytea NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  retired_at timestamp(3) with time zone,
  CONSTRAINT signing_keys_pkey PRIMARY KEY (kid)
);
CREATE UNIQUE INDEX signing_keys__one_signs ON signing_keys USING btree ((true)) WHERE retired_at IS NULL;
GRANT delete, insert, select, update ON signing_keys TO wardkeep_platform;

CREATE TABLE stats (
  tenant_id bigint,
  slot timestamp(3) with time zone NOT NULL,
  count bigint NOT NULL,
  step smallint DEFAULT 0 NOT NULL,
  series text NOT NULL
);
CREATE INDEX stats__by_time ON stats USING btree (series, slot);
CREATE UNIQUE INDEX stats__counts ON stats USING btree (tenant_id, series, slot, step) INCLUDE (count) NULLS NOT DISTINCT;
ALTER TABLE stats ENABLE ROW LEVEL SECURITY;
ALTER TABLE stats FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON stats FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON stats FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON stats TO wardkeep_app;
GRANT delete, insert, select, update ON stats TO wardkeep_platform;

CREATE TABLE tenants (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  name text NOT NULL,
  subdomain text NOT NULL,
  settings jsonb DEFAULT '{}'::jsonb NOT NULL,
  is_active boolean DEFAULT true NOT NULL,
  is_platform boolean DEFAULT false NOT NULL,
  is_demo boolean DEFAULT false NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  deleted_at timestamp(3) with time zone,
  purge_started_at timestamp(3) with time zone,
  CONSTRAINT tenants_pkey PRIMARY KEY (id),
  CONSTRAINT tenants__subdomain UNIQUE (subdomain)
);
CREATE UNIQUE INDEX tenants__one_platform ON tenants USING btree (is_platform) WHERE is_platform;
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON tenants FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON tenants FOR all TO wardkeep_app
  USING (id = current_tenant())
  WITH CHECK (id = current_tenant());
CREATE TRIGGER tenants__move AFTER UPDATE ON tenants FOR EACH ROW WHEN (old.deleted_at IS DISTINCT FROM new.deleted_at) EXECUTE FUNCTION note_list_row('id');
CREATE TRIGGER tenants__not_purged BEFORE INSERT ON tenants FOR EACH ROW EXECUTE FUNCTION refuse_purged_tenant();
CREATE TRIGGER tenants__purged BEFORE DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION note_purged_tenant();
GRANT delete, insert, select, update ON tenants TO wardkeep_platform;
GRANT insert, select, update ON tenants TO wardkeep_app;
COMMENT ON COLUMN public.tenants.settings IS 'free-form; "listed": false keeps the tenant off the public list';

CREATE UNLOGGED TABLE throttles (
  key bytea NOT NULL,
  failures integer NOT NULL,
  free_at timestamp(3) with time zone NOT NULL,
  forget_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT throttles_pkey PRIMARY KEY (key)
);
CREATE INDEX throttles__forgotten ON throttles USING btree (forget_at);
GRANT delete, insert, select, update ON throttles TO wardkeep_platform;

CREATE TABLE users (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  email text NOT NULL,
  full_name text NOT NULL,
  role text NOT NULL,
  department_id bigint,
  can_see_all_patients boolean DEFAULT false NOT NULL,
  is_active boolean DEFAULT true NOT NULL,
  is_pending boolean DEFAULT false NOT NULL,
  password_hash text,
  must_change_password boolean DEFAULT false NOT NULL,
  email_verified_at timestamp(3) with time zone,
  totp_enabled_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  last_login_at timestamp(3) with time zone,
  name_key text COLLATE "C" NOT NULL,
  is_folded boolean DEFAULT false NOT NULL,
  search text GENERATED ALWAYS AS ((lower(name_key) || ' '::text) || lower(email)) STORED NOT NULL,
  is_vouched boolean DEFAULT false NOT NULL,
  CONSTRAINT users_pkey PRIMARY KEY (id),
  CONSTRAINT users_tenant_id_id_key UNIQUE (tenant_id, id),
  CONSTRAINT users__email_is_ascii CHECK (octet_length(email) = char_length(email)),
  CONSTRAINT users_role_check CHECK (role = ANY (ARRAY['superadmin'::text, 'admin'::text, 'doctor'::text, 'nurse'::text, 'receptionist'::text, 'auditor'::text])),
  CONSTRAINT users__department FOREIGN KEY (tenant_id, department_id) REFERENCES departments(tenant_id, id) ON DELETE SET NULL (department_id),
  CONSTRAINT users_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
) WITH (fillfactor=90);
CREATE INDEX users__all_blocked ON users USING btree (email, id) WHERE NOT is_active;
CREATE INDEX users__all_by_created ON users USING btree (created_at, id);
CREATE INDEX users__all_by_email ON users USING btree (email, id);
CREATE INDEX users__all_by_name ON users USING btree (name_key, id);
CREATE INDEX users__all_by_role ON users USING btree (role, id);
CREATE INDEX users__blocked ON users USING btree (tenant_id, id) WHERE NOT is_active;
CREATE INDEX users__by_created ON users USING btree (tenant_id, created_at, id);
CREATE INDEX users__by_department ON users USING btree (tenant_id, department_id, id);
CREATE INDEX users__by_email ON users USING btree (tenant_id, email, id);
CREATE INDEX users__by_name ON users USING btree (tenant_id, name_key, id);
CREATE INDEX users__by_role ON users USING btree (tenant_id, role, id);
CREATE UNIQUE INDEX users__email ON users USING btree (tenant_id, lower(email COLLATE "C"));
CREATE INDEX users__pending ON users USING btree (tenant_id, id) WHERE is_pending AND NOT is_active;
CREATE INDEX users__search ON users USING gin (search gin_trgm_ops);
CREATE INDEX users__sign_in ON users USING btree (lower(email COLLATE "C"));
CREATE INDEX users__unfolded ON users USING btree (id) WHERE NOT is_folded;
CREATE INDEX users__unverified ON users USING btree (tenant_id, id) WHERE email_verified_at IS NULL;
CREATE INDEX users__with_factor ON users USING btree (tenant_id, id) WHERE totp_enabled_at IS NOT NULL;
CREATE INDEX users__without_factor ON users USING btree (tenant_id, id) WHERE totp_enabled_at IS NULL;
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON users FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON users FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
CREATE TRIGGER users__come AFTER INSERT ON users REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION note_list_rows();
CREATE TRIGGER users__end_patient_grants AFTER UPDATE OF role, is_active ON users FOR EACH ROW WHEN (old.role <> new.role OR old.is_active AND NOT new.is_active) EXECUTE FUNCTION end_patient_grants();
CREATE TRIGGER users__go AFTER DELETE ON users REFERENCING OLD TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION note_list_rows();
CREATE TRIGGER users__key_name BEFORE INSERT OR UPDATE ON users FOR EACH ROW EXECUTE FUNCTION key_unfolded_name('full_name');
CREATE TRIGGER users__move AFTER UPDATE ON users FOR EACH ROW WHEN (old.tenant_id IS DISTINCT FROM new.tenant_id OR old.role IS DISTINCT FROM new.role OR old.is_active IS DISTINCT FROM new.is_active OR old.is_pending IS DISTINCT FROM new.is_pending OR old.department_id IS DISTINCT FROM new.department_id OR (old.email_verified_at IS NULL) IS DISTINCT FROM (new.email_verified_at IS NULL) OR (old.totp_enabled_at IS NULL) IS DISTINCT FROM (new.totp_enabled_at IS NULL) OR old.search IS DISTINCT FROM new.search) EXECUTE FUNCTION note_list_row('tenant_id');
GRANT delete, insert, select, update ON users TO wardkeep_app;
GRANT delete, insert, select, update ON users TO wardkeep_platform;

CREATE TABLE webhook_attempts (
  tenant_id bigint NOT NULL,
  webhook_id bigint NOT NULL,
  entry_id bigint NOT NULL,
  event_at timestamp(3) with time zone NOT NULL,
  number integer NOT NULL,
  started_at timestamp(3) with time zone NOT NULL,
  duration_ms integer NOT NULL,
  status_code integer,
  error text,
  detail text,
  address text,
  response_body text
) PARTITION BY RANGE (event_at);
CREATE UNIQUE INDEX webhook_attempts__of_delivery ON webhook_attempts USING btree (webhook_id, entry_id, number, started_at, event_at);
ALTER TABLE webhook_attempts ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_attempts FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON webhook_attempts FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON webhook_attempts FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select ON webhook_attempts TO wardkeep_app;
GRANT delete, insert, select ON webhook_attempts TO wardkeep_platform;

CREATE TABLE webhook_deliveries (
  tenant_id bigint NOT NULL,
  webhook_id bigint NOT NULL,
  entry_id bigint NOT NULL,
  event_at timestamp(3) with time zone NOT NULL,
  event text NOT NULL,
  status text DEFAULT 'pending'::text NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  retry_step integer DEFAULT 0 NOT NULL,
  due_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  replay_id bigint,
  status_class smallint,
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (webhook_id, entry_id, event_at),
  CONSTRAINT webhook_deliveries__due_while_pending CHECK ((status = 'pending'::text) = (due_at IS NOT NULL)),
  CONSTRAINT webhook_deliveries_status_check CHECK (status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])),
  CONSTRAINT webhook_deliveries_status_class_check CHECK (status_class = ANY (ARRAY[0, 3, 4, 5]))
) PARTITION BY RANGE (event_at);
CREATE INDEX webhook_deliveries__by_class ON webhook_deliveries USING btree (webhook_id, status_class, entry_id) WHERE status_class IS NOT NULL;
CREATE INDEX webhook_deliveries__by_event ON webhook_deliveries USING btree (webhook_id, event, entry_id);
CREATE INDEX webhook_deliveries__due ON webhook_deliveries USING btree (webhook_id, due_at) WHERE status = 'pending'::text;
CREATE INDEX webhook_deliveries__failed ON webhook_deliveries USING btree (webhook_id, entry_id) WHERE status = 'failed'::text;
CREATE INDEX webhook_deliveries__of_replay ON webhook_deliveries USING btree (webhook_id, replay_id, status) WHERE replay_id IS NOT NULL;
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON webhook_deliveries FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON webhook_deliveries FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON webhook_deliveries TO wardkeep_app;
GRANT delete, insert, select, update ON webhook_deliveries TO wardkeep_platform;

CREATE TABLE webhook_queues (
  webhook_id bigint NOT NULL,
  tenant_id bigint NOT NULL,
  due_at timestamp(3) with time zone,
  leased_by text,
  leased_until timestamp(3) with time zone,
  epoch bigint DEFAULT 0 NOT NULL,
  failures integer DEFAULT 0 NOT NULL,
  failure_share double precision DEFAULT 0 NOT NULL,
  failing_since timestamp(3) with time zone,
  failed_at timestamp(3) with time zone,
  slots integer DEFAULT 4 NOT NULL,
  paused_until timestamp(3) with time zone,
  resets bigint DEFAULT 0 NOT NULL,
  probed_at timestamp(3) with time zone,
  answered_at timestamp(3) with time zone,
  CONSTRAINT webhook_queues_pkey PRIMARY KEY (webhook_id),
  CONSTRAINT webhook_queues_failure_share_check CHECK (failure_share >= 0::double precision AND failure_share <= 1::double precision),
  CONSTRAINT webhook_queues_slots_check CHECK (slots > 0),
  CONSTRAINT webhook_queues__webhook FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks(tenant_id, id) ON DELETE CASCADE
) WITH (fillfactor=50);
CREATE INDEX webhook_queues__due ON webhook_queues USING btree (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_queues__of_webhook ON webhook_queues USING btree (tenant_id, webhook_id);
ALTER TABLE webhook_queues ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_queues FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON webhook_queues FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON webhook_queues FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON webhook_queues TO wardkeep_app;
GRANT delete, insert, select, update ON webhook_queues TO wardkeep_platform;

CREATE TABLE webhook_replays (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  webhook_id bigint NOT NULL,
  since timestamp(3) with time zone NOT NULL,
  until timestamp(3) with time zone NOT NULL,
  state text DEFAULT 'running'::text NOT NULL,
  found integer DEFAULT 0 NOT NULL,
  event_at timestamp(3) with time zone NOT NULL,
  entry_id bigint DEFAULT 0 NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  finished_at timestamp(3) with time zone,
  actor jsonb,
  only_failed boolean DEFAULT false NOT NULL,
  CONSTRAINT webhook_replays_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_replays__finished CHECK ((state = 'running'::text) = (finished_at IS NULL)),
  CONSTRAINT webhook_replays_state_check CHECK (state = ANY (ARRAY['running'::text, 'completed'::text, 'cancelled'::text, 'failed'::text])),
  CONSTRAINT webhook_replays__webhook FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_replays__created ON webhook_replays USING btree (created_at);
CREATE INDEX webhook_replays__of_webhook ON webhook_replays USING btree (tenant_id, webhook_id);
CREATE UNIQUE INDEX webhook_replays__one_running ON webhook_replays USING btree (webhook_id) WHERE state = 'running'::text;
ALTER TABLE webhook_replays ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_replays FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON webhook_replays FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON webhook_replays FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON webhook_replays TO wardkeep_app;
GRANT delete, insert, select, update ON webhook_replays TO wardkeep_platform;

CREATE TABLE webhook_secrets (
  id uuid NOT NULL,
  tenant_id bigint NOT NULL,
  webhook_id bigint NOT NULL,
  sealed_secret bytea NOT NULL,
  expires_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  data_key_id bigint GENERATED ALWAYS AS (sealed_by(sealed_secret)) STORED NOT NULL,
  CONSTRAINT webhook_secrets_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_secrets__data_key FOREIGN KEY (data_key_id) REFERENCES data_keys(id) DEFERRABLE,
  CONSTRAINT webhook_secrets__webhook FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_secrets__by_data_key ON webhook_secrets USING btree (data_key_id, id);
CREATE INDEX webhook_secrets__expired ON webhook_secrets USING btree (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX webhook_secrets__of_webhook ON webhook_secrets USING btree (tenant_id, webhook_id);
CREATE UNIQUE INDEX webhook_secrets__one_current ON webhook_secrets USING btree (webhook_id) WHERE expires_at IS NULL;
ALTER TABLE webhook_secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_secrets FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON webhook_secrets FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON webhook_secrets FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON webhook_secrets TO wardkeep_app;
GRANT delete, insert, select, update ON webhook_secrets TO wardkeep_platform;

CREATE TABLE webhooks (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  tenant_id bigint NOT NULL,
  url text NOT NULL,
  events text[] NOT NULL,
  is_active boolean DEFAULT true NOT NULL,
  disabled_reason text,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT webhooks_pkey PRIMARY KEY (id),
  CONSTRAINT webhooks__of_tenant UNIQUE (tenant_id, id),
  CONSTRAINT webhooks__why_inactive CHECK (is_active = (disabled_reason IS NULL)),
  CONSTRAINT webhooks_disabled_reason_check CHECK (disabled_reason = ANY (ARRAY['admin'::text, 'failing'::text, 'gone'::text])),
  CONSTRAINT webhooks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhooks FORCE ROW LEVEL SECURITY;
CREATE POLICY platform ON webhooks FOR all TO wardkeep_platform
  USING (true)
  WITH CHECK (true);
CREATE POLICY tenant ON webhooks FOR all TO wardkeep_app
  USING (tenant_id = current_tenant())
  WITH CHECK (tenant_id = current_tenant());
GRANT delete, insert, select, update ON webhooks TO wardkeep_app;
GRANT delete, insert, select, update ON webhooks TO wardkeep_platform;
