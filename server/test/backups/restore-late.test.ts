/** A restore that nobody took for long is not done behind everybody's back. */
import { beforeAll, expect, test } from 'vitest'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

let at: Restoring

beforeAll(async () => {
  at = await openRestoring()
})

/** Restores one that was ordered a while ago, when no process was there to take it. */
async function orderedBefore(backup: string, ago: string) {
  const [{ id }] = await at.sql(
    `insert into backup_jobs (id, backup_id, kind, options, actor, created_at)
     values (gen_random_uuid(), $1, 'restore', '{"tenant_id":null,"access":"merged","dry_run":false}',
       '{"user_id":null,"user_email":null,"origin":null}', now() - $2::interval) returning id`,
    [backup, ago],
  )
  return at.over(id)
}

test('one that waited for more than an hour fails, and touches nothing; a younger one is done', async () => {
  const { id } = at.north.people.nurse
  const before = await at.nameOf(id)
  const backup = await make(at.service, at.root)
  await at.rename(at.root, id, 'Renamed Since')
  const late = await orderedBefore(backup, '61 minutes')
  expect(late).toMatchObject({ status: 'failed', result: null })
  expect(late.error).toMatch(
    /^Refused: it was ordered at \S+Z and waited too long; order it again[.]$/,
  )
  expect(await at.nameOf(id)).toBe('Renamed Since')
  expect(await at.sql("select from backups where reason = 'safety'")).toEqual([])
  expect(await orderedBefore(backup, '20 minutes')).toMatchObject({ status: 'completed' })
  expect(await at.nameOf(id)).toBe(before)
})
