/** Partitions that are missing, or not guarded as their table is, are seen and mended. */
import { beforeAll, expect, it } from 'vitest'
import { type Bench, openBench } from './bench.ts'

let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)

/** Names partitions of a month or a day: `part('journal', 'month', 1)` is that of next month. */
type Part = (table: string, unit: 'month' | 'day', ahead: number) => string
let part: Part

beforeAll(async () => {
  bench = await openBench()
  part = partsOn(await today())
})

/** Today by the clock of the database (UTC). */
async function today(): Promise<string> {
  const [row] = await sql<{ day: string }>(`select (now() at time zone 'UTC')::date::text as day`)
  return String(row?.day)
}

function partsOn(date: string): Part {
  const [y, m, d] = date.split('-').map(Number) as [number, number, number]
  return (table, unit, ahead) => {
    const at = unit === 'month' ? Date.UTC(y, m - 1 + ahead, 1) : Date.UTC(y, m - 1, d + ahead)
    const iso = new Date(at).toISOString().slice(0, unit === 'month' ? 7 : 10)
    return `${table}_${iso.replaceAll('-', '_')}`
  }
}

/** The partitions that have to be there on a day. */
function neededOn(date: string): string[] {
  const name = partsOn(date)
  return [0, 1].flatMap((ahead) => [
    ...['journal', 'journal_resources'].map((table) => name(table, 'month', ahead)),
    ...['webhook_attempts', 'webhook_deliveries'].map((table) => name(table, 'day', ahead)),
  ])
}

const guards = (part: string) =>
  sql(`select c.relrowsecurity, c.relforcerowsecurity, c.relacl::text, array(
      select tgname::text from pg_trigger where tgrelid = c.oid and not tgisinternal order by 1) as triggers, array(
      select polname::text from pg_policy where polrelid = c.oid) as policies
    from pg_class c where relname = '${part}'`)

it('partitions of the next month and of tomorrow are made, as guarded as those before', async () => {
  const lost = [
    part('journal', 'month', 1),
    part('journal_resources', 'month', 1),
    part('webhook_attempts', 'day', 1),
    part('webhook_deliveries', 'day', 0),
    part('webhook_deliveries', 'day', 1),
  ]
  const before = new Map(
    await Promise.all(lost.map(async (name) => [name, await guards(name)] as const)),
  )
  for (const name of lost) await sql(`drop table ${name}`)
  const days = [await today()]
  const { findings, looked_at } = await bench.look('database.partitions')
  days.push(await today())
  expect(looked_at).toBe(8)
  // Two days where the next one begins just then. Yesterday's partition is no longer needed.
  const missingOn = (date: string) => lost.filter((name) => neededOn(date).includes(name))
  expect(days.map(missingOn)).toContainEqual(
    findings.map(({ subject }) => subject.replace('partition ', '')),
  )
  expect(findings).toContainEqual({
    tenant_id: null,
    subject: `partition ${part('journal', 'month', 1)}`,
    measured: { state: 'missing' },
    expected: { partition_of: 'journal' },
  })
  const outcomes: string[] = []
  for (const finding of findings) outcomes.push(await bench.repair('database.partitions', finding))
  // One makes all that are missing.
  expect(outcomes.toSorted()).toEqual([
    ...Array(findings.length - 1).fill('already gone'),
    'repaired',
  ])
  for (const name of missingOn(await today()))
    expect(await guards(name), name).toEqual(before.get(name))
  expect((await bench.look('database.partitions')).findings).toEqual([])
  expect((await bench.look('database.partition_security')).findings).toEqual([])
})

it('a table that has the name of a partition is told of, and left as it is', async () => {
  const taken = part('journal', 'month', 1)
  await sql(`alter table journal detach partition ${taken}`)
  const [finding] = (await bench.look('database.partitions')).findings
  if (!finding) throw new Error('nothing is seen')
  await expect(bench.repair('database.partitions', finding)).rejects.toThrow(
    `${taken} is a table, and no partition of journal`,
  )
  await sql(`drop table ${taken}`)
  await bench.mend('database.partitions', `partition ${taken}`)
})

it('a partition that is less guarded than its table, or open beside it, is put under it again', async () => {
  const journal = part('journal', 'month', 0)
  const deliveries = part('webhook_deliveries', 'day', 0)
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
