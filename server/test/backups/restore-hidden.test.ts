/** Clinics on the public list: a restore shows none that has hidden since. */
import { beforeAll, expect, test } from 'vitest'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

let at: Restoring

beforeAll(async () => {
  at = await openRestoring()
})

const HIDDEN = { listed: false }
/** What its settings say: in the backup, now, and afterwards. */
const CLINICS = [
  { before: {}, now: HIDDEN, afterwards: HIDDEN },
  { before: { listed: true }, now: HIDDEN, afterwards: HIDDEN },
  { before: HIDDEN, now: {}, afterwards: HIDDEN },
  { before: { listed: true }, now: {}, afterwards: { listed: true } },
  { before: {}, now: { listed: true }, afterwards: {} },
]

const settingsOf = async (id: number) =>
  (await at.sql('select settings from tenants where id = $1', [id]))[0].settings

test('one that is off the list stays off it, unless its access is asked for', async () => {
  const { root, sql, restore } = at
  const ids: number[] = []
  for (const [index, { before }] of CLINICS.entries()) {
    const [{ id }] = await sql(
      'insert into tenants (name, subdomain, settings) values ($1, $1, $2) returning id',
      [`clinic-${index}`, JSON.stringify(before)],
    )
    ids.push(Number(id))
  }
  const backup_id = await make(at.service, root)
  for (const [index, { now }] of CLINICS.entries())
    await sql('update tenants set settings = $2 where id = $1', [ids[index], JSON.stringify(now)])
  const { access, as } = await restore(root, { backup_id })
  for (const [index, { afterwards }] of CLINICS.entries())
    expect(await settingsOf(ids[index] ?? 0)).toEqual(afterwards)
  const kept = ids.slice(0, 2).map((id) => ({ table: 'tenants', id, fields: ['listed'] }))
  expect(access.cases).toEqual(kept)
  await restore(as, { backup_id, tenant_id: ids[0], access: 'backup' })
  expect(await settingsOf(ids[0] ?? 0)).toEqual({})
})
