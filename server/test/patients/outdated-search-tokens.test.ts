/** Recomputes search tokens that an earlier fold has made, also next to patients that cannot be decrypted. */
import { expect, it } from 'vitest'
import { openService } from '../support/service.ts'
import { openPatientScene } from './scene.ts'

it('the upkeep recomputes outdated search tokens in every tenant, and skips undecryptable patients', async () => {
  const service = await openService()
  const { sql } = service.database
  const [north, south] = [await openPatientScene(service), await openPatientScene(service)]
  const ids: number[] = []
  // The outdated rows are mixed with current ones, fill more than one batch, and begin with rows that cannot be read.
  for (let made = 0; made < 130; made += 1) {
    const scene = made % 2 ? north : south
    ids.push((await scene.patient({ full_name: `Łucja ${made}` })).id)
  }
  const broken = ids.slice(0, 3)
  await sql(
    `update patients set sealed_full_name = set_byte(sealed_full_name, length(sealed_full_name) - 1,
       get_byte(sealed_full_name, length(sealed_full_name) - 1) # 1) where id = any($1)`,
    [broken],
  )
  await sql(`update patient_tokens set token = substr(sha256(token), 1, 16) where kind = 1`)
  await sql('update patients set fold_version = 1')
  const search = (scene: typeof north, text: string) =>
    scene.as('admin')('POST', '/api/patients/search', { search: text })
  expect((await search(north, 'lucja 129')).body.total).toBe(0)
  service.clock.elapse(60_000)
  const old = () =>
    sql<{ id: number }>('select id::int from patients where fold_version = 1 order by id')
  await expect.poll(old).toEqual(broken.map((id) => ({ id })))
  expect((await search(north, 'lucja 129')).body.total).toBe(1)
  expect((await search(south, 'LUCJA 128')).body.total).toBe(1)
  const [kept] = await sql<{ count: number }>(
    'select count(*)::int as count from patient_tokens where patient_id = any($1)',
    [broken],
  )
  expect(kept?.count).toBe(3)
})
