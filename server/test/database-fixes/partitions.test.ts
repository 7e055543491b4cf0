/** Finds and creates missing partitions. */
import { beforeAll, expect, it } from 'vitest'
import { type Bench, openBench } from './scene.ts'

let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)

/** Names the partition of a month or day: `part('journal', 'month', 1)` is next month's. */
type Part = (table: string, unit: 'month' | 'day', ahead: number) => string
let part: Part

beforeAll(async () => {
  bench = await openBench()
  part = partsOn(await today())
})

/** Returns today by the clock of the database (UTC). */
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

/** Returns the partitions that have to exist on a day. */
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

it('the partition fix creates the partitions of the next month and day with the triggers and policies of earlier ones', async () => {
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
  // Tries two days, in case midnight passes during the test. By then yesterday's partition is no longer needed.
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
  // One repair creates all missing partitions.
  expect(outcomes.toSorted()).toEqual([
    ...Array(findings.length - 1).fill('already gone'),
    'repaired',
  ])
  for (const name of missingOn(await today()))
    expect(await guards(name), name).toEqual(before.get(name))
  expect((await bench.look('database.partitions')).findings).toEqual([])
  expect((await bench.look('database.row_security')).findings).toEqual([])
  await bench.differ()
})

it('the partition fix reports an ordinary table with the name of a partition, and leaves the table unchanged', async () => {
  const taken = part('journal', 'month', 1)
  await sql(`alter table journal detach partition ${taken}`)
  const [finding] = (await bench.look('database.partitions')).findings
  if (!finding) throw new Error('nothing is seen')
  await expect(bench.repair('database.partitions', finding)).rejects.toThrow(
    `${taken} is a table but not a partition of journal`,
  )
  await sql(`drop table ${taken}`)
  await bench.mend('database.partitions', `partition ${taken}`)
})
