/** What is unique and changed hands since the backup goes back to whoever had it then. */
import { beforeEach, describe, expect, test } from 'vitest'
import { clinicOn } from '../webhooks/clinic.ts'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

let at: Restoring

beforeEach(async () => {
  at = await openRestoring()
})

describe("a patient's identifier", () => {
  const byAdmin = async (method: string, path: string, body?: object) => {
    const answer = await at.call(at.north.people.admin, method, `/api/patients${path}`, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return answer.body
  }
  const identifiedBy = (value: string) => ({ identifiers: [{ system: 'insurer', value }] })

  /** Two patients who had one identifier, the first before the second. */
  async function oneBehindTheOther(value: string): Promise<[number, number]> {
    const first = await byAdmin('POST', '', { full_name: 'First', ...identifiedBy(value) })
    await byAdmin('DELETE', `/${first.id}`)
    const second = await byAdmin('POST', '', { full_name: 'Second', ...identifiedBy(value) })
    return [first.id, second.id]
  }
  /** Has the identifier go from one to the other. */
  async function handOver(from: number, to: number) {
    await byAdmin('DELETE', `/${from}`)
    await byAdmin('POST', `/${to}/restore`)
  }
  const tokens = () =>
    at.sql(
      'select patient_id, kind, token, is_living from patient_tokens order by patient_id, token',
    )

  /** Restores it, and holds what came of it to what was said before. */
  async function restoreAsRehearsed(order: object) {
    const rehearsed = await at.call(at.root, 'POST', '/api/admin/backup/restore', {
      ...order,
      dry_run: true,
    })
    const { result } = await at.over(rehearsed.body.job_id)
    const { tables } = await at.restore(at.root, order)
    expect(tables).toEqual(result.tables)
  }

  test.each([
    ['everything', () => ({})],
    ['one clinic', () => ({ tenant_id: at.north.id })],
  ])('by a restore of %s', async (_what, wanted) => {
    const [first, second] = await oneBehindTheOther('X-1')
    const [older, younger] = await oneBehindTheOther('X-2')
    // The living one is now the younger of a pair, now the older.
    const [living, deleted] = await oneBehindTheOther('X-3')
    await handOver(deleted, living)
    const then = await tokens()
    const order = { backup_id: await make(at.service, at.root), ...wanted() }
    await byAdmin('PUT', `/${second}`, identifiedBy('Y-1'))
    await byAdmin('POST', `/${first}/restore`)
    await handOver(younger, older)
    await handOver(living, deleted)
    expect(await tokens()).not.toEqual(then)
    await restoreAsRehearsed(order)
    expect(await tokens()).toEqual(then)
  })
})

test("a webhook's current secret, where access comes back too", async () => {
  const { id, call } = await (async () => {
    const hooks = clinicOn(at.service, at.north)
    return { ...hooks, ...(await hooks.register()) }
  })()
  const current = () =>
    at.sql('select id from webhook_secrets where webhook_id = $1 and expires_at is null', [id])
  const first = await current()
  const backup_id = await make(at.service, at.root)
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  expect((await call('PUT', `/${id}`, { body: { secret } })).status).toBe(200)
  const second = await current()
  const order = { access: 'backup', tenant_id: at.north.id }
  const { as, safety_backup_id } = await at.restore(at.root, { ...order, backup_id })
  expect(await current()).toEqual(first)
  await at.restore(as, { ...order, backup_id: safety_backup_id })
  expect(await current()).toEqual(second)
})
