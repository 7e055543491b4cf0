/** Partitions that are missing, or not guarded as their table is, are seen and mended. */
import { beforeAll, expect, it } from 'vitest'
import { type Bench, openBench } from './bench.ts'

let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)

/** `journal_2026_12`: of the month, or the day, that many ahead. */
let month: (ahead: number) => string
let day: (ahead: number) => string

beforeAll(async () => {
  bench = await openBench()
  const [now] = await sql<{ at: string }>(`select (now() at time zone 'UTC')::date::text as at`)
  const [y, m, d] = String(now?.at).split('-').map(Number) as [number, number, number]
  const iso = (...at: [number, number, number]) => new Date(Date.UTC(...at)).toISOString()
  month = (ahead) =>
    iso(y, m - 1 + ahead, 1)
      .slice(0, 7)
      .replace('-', '_')
  day = (ahead) =>
    iso(y, m - 1, d + ahead)
      .slice(0, 10)
      .replaceAll('-', '_')
})

const guards = (part: string) =>
  sql(`select c.relrowsecurity, c.relforcerowsecurity, c.relacl::text, array(
      select tgname::text from pg_trigger where tgrelid = c.oid and not tgisinternal order by 1) as triggers, array(
      select polname::text from pg_policy where polrelid = c.oid) as policies
    from pg_class c where relname = '${part}'`)

it('partitions of the next month and of tomorrow are made, as guarded as those before', async () => {
  const lost = [
    `journal_${month(1)}`,
    `journal_resources_${month(1)}`,
    `webhook_deliveries_${day(1)}`,
    `webhook_attempts_${day(1)}`,
    `webhook_deliveries_${day(0)}`,
  ]
  const before = await Promise.all(lost.map(guards))
  for (const part of lost) await sql(`drop table ${part}`)
  const { findings, looked_at } = await bench.look('database.partitions')
  expect(looked_at).toBe(8)
  expect(findings).toHaveLength(5)
  expect(findings).toContainEqual({
    tenant_id: null,
    subject: `partition journal_${month(1)}`,
    measured: { state: 'missing' },
    expected: { partition_of: 'journal' },
  })
  const outcomes: string[] = []
  for (const finding of findings) outcomes.push(await bench.repair('database.partitions', finding))
  // One makes all that are missing.
  expect(outcomes.toSorted()).toEqual([...Array(4).fill('already gone'), 'repaired'])
  expect(await Promise.all(lost.map(guards))).toEqual(before)
  expect((await bench.look('database.partitions')).findings).toEqual([])
  expect((await bench.look('database.partition_security')).findings).toEqual([])
})

it('a table that has the name of a partition is told of, and left as it is', async () => {
  const part = `journal_${month(1)}`
  await sql(`alter table journal detach partition ${part}`)
  const [finding] = (await bench.look('database.partitions')).findings
  if (!finding) throw new Error('nothing is seen')
  await expect(bench.repair('database.partitions', finding)).rejects.toThrow(
    `${part} is a table, and no partition of journal`,
  )
  await sql(`drop table ${part}`)
  await bench.mend('database.partitions', `partition ${part}`)
})

it('a partition that is less guarded than its table, or open beside it, is put under it again', async () => {
  const [journal, deliveries] = [`journal_${month(0)}`, `webhook_deliveries_${day(0)}`]
  const before = [await guards(journal), await guards(deliveries)]
  await sql(`alter table ${journal} no force row level security;
    drop trigger journal__no_truncate on ${journal};
    create trigger other after insert on ${journal} for each row execute function note_list_row('id');
    alter table ${deliveries} disable row level security;
    create policy open on ${deliveries} to wardkeep_app using (true);
    grant select, update (status) on ${deliveries} to wardkeep_app;
    grant select on pgboss.job_common to public`)
  const findings = await bench.mend(
    'database.partition_security',
    `row security of ${journal}`,
    `trigger journal__no_truncate on ${journal}`,
    `trigger other on ${journal}`,
    `row security of ${deliveries}`,
    `policy open on ${deliveries}`,
    `grants on ${deliveries} to wardkeep_app`,
    'grants on pgboss.job_common to PUBLIC',
  )
  expect(findings.find(({ subject }) => subject === `row security of ${journal}`)).toMatchObject({
    measured: {
      state: 'different',
      statement: `ALTER TABLE ${journal} ENABLE ROW LEVEL SECURITY;`,
    },
  })
  const after = [await guards(journal), await guards(deliveries)]
  const bare = (rows: typeof after) => rows.flat().map(({ relacl: _, ...rest }) => rest)
  expect(bare(after)).toEqual(bare(before))
  await expect(sql(`truncate ${journal}`)).rejects.toThrow('append-only')
  await expect(
    sql(`begin; set local role wardkeep_app; select from ${deliveries}`).finally(() =>
      sql('rollback'),
    ),
  ).rejects.toThrow('permission denied')
})
