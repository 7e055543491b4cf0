/** A node without change notifications keeps writing and reading while keys rotate, and drops the old keys. */
import { expect, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import {
  openKeyRing,
  openSealer,
  type TenantKeys,
  UnreadableError,
} from '../../src/platform/crypto/index.ts'
import { openScopes, watchChanges } from '../../src/platform/db/index.ts'
import { hears, openPatientScene } from '../patients/scene.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openRotations } from './scene.ts'

test('a node without change notifications loses no data in a rotation, and removes its old keys from memory', async () => {
  const service = await openService({ background: ['encryption', 'jobs'] })
  const proxy = await proxyTo(service.database)
  const address = { url: proxy.url }
  const deaf = await openService({
    database: { ...service.database, address },
  })
  const scene = await openPatientScene(service)
  const { token } = scene.clinic.people.admin
  const patients: { id: number }[] = []
  for (let made = 0; made < 12; made += 1)
    patients.push(await scene.patient({ full_name: `Paula Old${made}` }))

  // The keys of a node without notifications, accessible to the test.
  const changes = watchChanges(address, silentLog, systemTime)
  const db = openScopes(address, { clock: systemTime, size: 2, changes, log: silentLog })
  atTheEnd(async () => {
    await changes.stop()
    await db.close()
  })
  const ring = await openKeyRing(db, openSealer(ROOT_KEY), changes)
  const keysNow = (): Promise<TenantKeys> =>
    db.inTenant(scene.clinic.id, (tx) => ring.ofTenant(tx, scene.clinic.id))
  await until('it hears', () => changes.trusted() || undefined)
  const before = await keysNow()
  const place = { table: 'patients', column: 'sealed_notes', row: 1 }
  const sealed = before.seal('by an old key', place)
  await hears(deaf, token)
  await deaf.call('GET', `/api/patients/${patients[0]?.id}`, { token })

  const rotations = await openRotations(service)
  proxy.deafen()
  await rotations.begin()
  for (const [index, { id }] of patients.entries()) {
    const body = {
      full_name: `Paula New${index}`,
      identifiers: [{ system: 'ward', value: `v${index}` }],
    }
    expect((await deaf.call('PUT', `/api/patients/${id}`, { token, body })).status).toBe(200)
    const search = { search: `paula new${index}` }
    const found = await deaf.call('POST', '/api/patients/search', { token, body: search })
    expect(found.body.items).toMatchObject([{ id }])
  }
  await rotations.until('completed')

  for (const [index, { id }] of patients.entries())
    for (const node of [deaf, service]) {
      const read = await node.call('GET', `/api/patients/${id}`, { token })
      expect(read.body).toMatchObject({ full_name: `Paula New${index}` })
    }
  const after = await keysNow()
  expect(after.currentId).toBeGreaterThan(before.currentId)
  expect(() => after.open(sealed, place)).toThrow(UnreadableError)
})
