/** The effects of a confirmation, and the recovery from an interrupted one. Uses fixes that are made for this test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { ROOT } from './root.ts'
import { forget, heal, hurt, soreDatabase } from './scene.ts'
import { findingOf, openSores, soreFix, treat } from './sores.ts'

let database: TestDatabase
let tenant: number

beforeAll(async () => {
  ;({ database, tenant } = await soreDatabase())
})
beforeEach(() => forget(database))

const treatedOf = async (name: string) =>
  (await database.sql('select treated from sores where name = $1', [name]))[0]?.treated
const NOT_PROPOSED = { code: 'fix_not_proposed', status: 409 }

/** Opens a node with a proposed fix for sores of these names (see sores.ts). */
async function proposed(names: readonly string[], fix = soreFix()) {
  const node = await heal(database, [fix])
  await hurt(database, names, tenant)
  await node.scan()
  expect((await node.fix()).status).toBe('proposed')
  return node
}

describe('confirming a fix', () => {
  test('repairs current findings, and reports who confirmed and the values before and after', async () => {
    const node = await proposed(['a', 'b'])
    await database.sql("update sores set is_open = false where name = 'a'")
    await hurt(database, ['later'])
    expect(await node.confirm()).toMatchObject({
      status: 'applied',
      reason: null,
      occurrences: 0,
      applied_by: ROOT.user_id,
      result: { repaired: 2, already_gone: 1, failed: 0, remaining: 0 },
    })
    const [entry, platform] = (await node.journal()).slice(1)
    expect([entry, platform]).toMatchObject([
      {
        action: 'self_healing.applied',
        tenant_id: tenant,
        changes: {
          before: { status: 'proposed', occurrences: 2 },
          after: { status: 'applied', occurrences: 0 },
          repaired: 1,
          subjects: ['a', 'b'],
        },
      },
      { tenant_id: null, changes: { repaired: 1, subjects: ['later'] } },
    ])
    const [by] = await database.sql(
      "select user_id, user_email from journal where action = 'self_healing.applied' order by id desc limit 1",
    )
    expect(by).toEqual({ user_id: ROOT.user_id, user_email: ROOT.email })
  })

  test('succeeds without a repair if the fault no longer exists', async () => {
    const node = await proposed(['a'])
    await database.sql('update sores set is_open = false')
    expect(await node.confirm()).toMatchObject({
      status: 'applied',
      result: { repaired: 0, already_gone: 1, failed: 0, remaining: 0 },
    })
    expect(await treatedOf('a')).toBe(0)
  })

  test('fails if one repair fails; other repairs are kept, and the fix is proposed again', async () => {
    const fix = soreFix({
      repair: (finding, repairing) =>
        finding.subject === 'b' ? Promise.reject(new Error('too deep')) : treat(finding, repairing),
    })
    const node = await proposed(['a', 'b', 'c'], fix)
    expect(await node.confirm()).toMatchObject({
      status: 'failed',
      reason: 'b: too deep',
      occurrences: 1,
      result: { repaired: 2, already_gone: 0, failed: 1, remaining: 1 },
    })
    expect((await node.journal()).at(-1)).toMatchObject({ action: 'self_healing.failed' })
    await expect(node.confirm()).rejects.toMatchObject(NOT_PROPOSED)
    await node.scan()
    expect(await node.fix()).toMatchObject({ status: 'proposed', occurrences: 1, reason: null })
  })

  test('waits two seconds for a lock of another transaction, and then fails', async () => {
    const node = await proposed(['a'])
    const other = new pg.Client({ connectionString: database.url })
    onTestFinished(() => other.end())
    await other.connect()
    await other.query('begin; select from sores for update')
    expect(await node.confirm()).toMatchObject({
      status: 'failed',
      reason: 'a: The record is being changed by other requests. Try again shortly.',
    })
    await other.query('rollback')
    await node.scan()
    expect((await node.confirm()).status).toBe('applied')
  })

  test('fails if the fault is still there after the repair', async () => {
    const fix = soreFix({ repair: async () => 'repaired' })
    const node = await proposed(['a'], fix)
    const { status, reason, result } = await node.confirm()
    expect([status, result.remaining]).toEqual(['failed', 1])
    expect(reason).toBe(
      '1 findings remain after the repair. Scan again, then confirm the repair again.',
    )
  })

  test('fails without a repair if the check itself fails', async () => {
    const eyes = { open: true }
    const fix = soreFix({
      async detect(tx) {
        if (!eyes.open) throw new Error('it is dark')
        return { findings: (await openSores(tx)).map(findingOf), looked_at: 10 }
      },
    })
    const node = await proposed(['a'], fix)
    eyes.open = false
    expect(await node.confirm()).toMatchObject({
      status: 'failed',
      reason: 'the check failed: it is dark',
      occurrences: 1,
      result: { repaired: 0, remaining: 1 },
    })
    expect(await treatedOf('a')).toBe(0)
  })

  test('repairs five hundred findings, and leaves the others to the next confirmation', async () => {
    const names = Array.from({ length: 501 }, (_, n) => `sore ${n}`)
    const node = await proposed(names)
    expect(await node.confirm()).toMatchObject({
      status: 'failed',
      result: { repaired: 500, remaining: 1 },
    })
    await node.scan()
    expect(await node.confirm()).toMatchObject({ status: 'applied', result: { repaired: 1 } })
  })
})

/** Creates a fix whose repair waits for the test. */
function haltingFix() {
  const inside = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const fix = soreFix({
    async repair(finding, repairing) {
      inside.resolve()
      await goOn.promise
      return treat(finding, repairing)
    },
  })
  return { fix, inside: inside.promise, goOn: goOn.resolve }
}

test('a confirmation succeeds for one of sixteen concurrent callers on two nodes, and the others are refused', async () => {
  const { fix, inside, goOn } = haltingFix()
  const node = await proposed(['a'], fix)
  const other = await heal(database, [fix])
  const { id } = await node.fix()
  const all = Array.from({ length: 16 }, (_, n) =>
    (n % 2 ? node : other).healing.service.confirm(ROOT, id),
  )
  const refused = all.map((one) => one.then(() => undefined).catch((error) => error))
  await inside
  // Other confirmations are refused while the first one is running.
  let count = 0
  const note = (error: unknown) => {
    if (error) count += 1
  }
  for (const one of refused) void one.then(note)
  await until('fifteen are refused', () => count === 15 || undefined)
  goOn()
  const answers = await Promise.all(refused)
  expect(answers.filter((error) => error === undefined)).toHaveLength(1)
  for (const error of answers)
    if (error) expect(error).toMatchObject({ status: 409, code: 'fix_busy' })
  expect(await treatedOf('a')).toBe(1)
  expect((await node.fix()).result).toMatchObject({ repaired: 1 })
})

test('a confirmation is not disturbed by a concurrent scan', async () => {
  const { fix, inside, goOn } = haltingFix()
  const node = await proposed(['a'], fix)
  const confirming = node.confirm()
  await inside
  expect(await node.scan()).toMatchObject({ fixes: [] })
  goOn()
  expect((await confirming).status).toBe('applied')
})

test('can be repeated if its process was killed halfway', async () => {
  const node = await proposed(['a', 'b', 'c'])
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'confirm-child.ts'), JSON.stringify(database.address)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const ended = once(child, 'close')
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await until('it is in the middle', () => said.includes('half') || undefined, 60_000)
  await expect(node.confirm()).rejects.toMatchObject({ code: 'fix_busy' })
  child.kill('SIGKILL')
  await ended
  expect(await node.fix()).toMatchObject({ status: 'proposed', occurrences: 3, result: null })
  const applied = await until('its lock to be gone with it', () =>
    node.confirm().catch((error) => {
      if (error.code !== 'fix_busy') throw error
      return undefined
    }),
  )
  expect(applied).toMatchObject({
    status: 'applied',
    result: { repaired: 2, already_gone: 1, remaining: 0 },
  })
  for (const name of ['a', 'b', 'c']) expect(await treatedOf(name)).toBe(1)
})
