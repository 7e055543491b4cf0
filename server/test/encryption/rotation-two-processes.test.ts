/**
 * Two processes on one database. Both write and read while keys rotate, and neither keeps cached records of old keys.
 */
import { expect, test } from 'vitest'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { migratedDatabase } from '../support/database.ts'
import { holdUp } from '../support/paused-writes.ts'
import { PLAIN, type RunningService, startService } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openRotations } from './scene.ts'

const PATIENTS = 20

test('a rotation re-encrypts everything while two processes write', async () => {
  const database = await migratedDatabase()
  const api = await openService({ database })
  const root = await superadmin(api)
  const { people, departmentId } = await makeClinic(api, root, 'north')
  const { token } = people.admin
  const rotations = await openRotations(api)
  const env = {
    ...PLAIN,
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
    LOG_LEVEL: 'error',
    // The token issuer of the node in this process.
    PUBLIC_URL: 'http://wardkeep.test',
  }
  const nodes = await Promise.all(
    [0, 1].map(async () => startService({ ...env, DATA_DIR: await scratch() })),
  )
  const misses = async (node: RunningService): Promise<number> =>
    (await node.call('GET', '/api/admin/cache/stats', { token })).body.misses
  const read = async (node: RunningService, id: number) => {
    const { status, body } = await node.call('GET', `/api/patients/${id}`, { token })
    expect(status).toBe(200)
    return body
  }
  /** Reads the record until the node answers from its cache. */
  const holds = (node: RunningService, id: number) =>
    until('the node holds the patient', async () => {
      const before = await misses(node)
      await read(node, id)
      return (await misses(node)) === before || undefined
    })

  const ids: number[] = []
  for (let made = 0; made < PATIENTS; made += 1) {
    const body = { full_name: `Paula Old${made}`, department_id: departmentId }
    ids.push((await api.call('POST', '/api/patients', { token, body })).body.id)
  }
  const [untouched = 0, ...others] = ids
  const held = await holdUp(database, {
    table: 'patients',
    event: 'update',
    moment: 'before',
    when: `old.id = ${untouched}`,
  })
  expect((await rotations.begin()).status).toBe(200)
  await held.met()
  // Makes both nodes decrypt and cache the record with the old key.
  for (const node of nodes) await holds(node, untouched)

  const write = async (node: RunningService, id: number) => {
    const body = { full_name: `Paula New${id}` }
    expect((await node.call('PUT', `/api/patients/${id}`, { token, body })).status).toBe(200)
    expect(await read(node, id)).toMatchObject(body)
  }
  await Promise.all([
    ...others.map((id, index) => write(nodes[index % 2] as RunningService, id)),
    held.release(),
  ])
  await rotations.until('completed')

  for (const node of nodes) {
    // Once the node knows of the change to this patient, it also knows of everything that was committed before.
    await until('the node has heard', async () => {
      const id = others[0] as number
      const body = { notes: crypto.randomUUID() }
      await api.call('PUT', `/api/patients/${id}`, { token, body })
      return (await read(node, id)).notes === body.notes || undefined
    })
    const before = await misses(node)
    expect(await read(node, untouched)).toMatchObject({ full_name: 'Paula Old0' })
    expect(await misses(node)).toBeGreaterThan(before)
  }
  for (const id of others)
    for (const node of nodes)
      expect(await read(node, id)).toMatchObject({ full_name: `Paula New${id}` })
})
