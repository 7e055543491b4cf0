/** Counts of the seeded entries, as if the service had counted them, and busy clinics with counts in every slot. */
import type pg from 'pg'

const DAYS = 31
/** The clinics that have events of every series in every quarter of an hour: the first ones. */
const BUSY = 10

const COUNT_ENTRIES = `
  insert into stats (tenant_id, series, slot, count)
  select tenant_id, series, date_bin('15 minutes', created_at, timestamptz 'epoch'), count(*)
  from journal join (values ('auth.login', 'sign_ins'), ('auth.login_failed', 'refused_sign_ins'),
    ('preferences.updated', 'changes'), ('user.updated', 'changes'), ('user.created', 'changes'),
    ('user.blocked', 'changes'), ('user.role_changed', 'changes')) counted(action, series)
    using (action)
  group by 1, 2, 3`

const FILL_BUSY = `
  insert into stats (tenant_id, series, slot, step, count)
  select tenant.id, series.name, date_bin('15 minutes', now(), timestamptz 'epoch') - n * interval '15 minutes',
    step, 1 + n % 7
  from (select id from tenants order by id limit ${BUSY}) tenant,
    generate_series(0, ${DAYS} * 96) n,
    (values ('sign_ins', 0), ('refused_sign_ins', 0), ('changes', 0), ('patient_reads', 0),
      ('payments_succeeded', 0), ('payments_failed', 0), ('deliveries_delivered', 7),
      ('deliveries_failed', 3), ('deliveries_retried', 3)) series(name, steps),
    generate_series(0, series.steps) step
  on conflict (tenant_id, series, slot, step) do update set count = excluded.count`

const MOVE_CONSUMER = `
  update journal_consumers set (xid, id) =
    (select xid, id from journal where not is_access order by xid desc, id desc limit 1)
  where consumer = 'stats'`

/** The service is running and counts entries too, so its position is locked. */
export async function seedCounts(client: pg.Client): Promise<void> {
  await client.query(`
    begin;
    insert into journal_consumers values ('stats', '0', 0) on conflict do nothing;
    select from journal_consumers where consumer = 'stats' for update;
    delete from stats`)
  await client.query(COUNT_ENTRIES)
  await client.query(FILL_BUSY)
  await client.query(MOVE_CONSUMER)
  await client.query('commit')
}
