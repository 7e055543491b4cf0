/** Kills the service with SIGKILL while records are read. The journal must contain each record that was sent. */
import { expect, test } from 'vitest'
import { query } from '../support/embedded.ts'
import { PLAIN, type RunningService, startService } from '../support/process.ts'
import { nobodyLeft } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

const ROUNDS = 5
const READERS = 8
/** How many records each round reads before the kill. */
const ENOUGH = 60
const ADMIN = { subdomain: 'demo', email: 'admin@demo.local', password: 'try-Wardkeep-26' }

/** Reads the same few records until the connection breaks. Most of them come from the cache. */
async function readOn(service: RunningService, token: string, ids: number[], left: number[]) {
  for (let count = 0; ; count++) {
    const id = ids[count % ids.length] as number
    const answer = await service
      .call('GET', `/api/patients/${id}`, { token })
      .catch(() => undefined)
    // The connection broke because the service was killed.
    if (!answer) return
    expect(answer).toMatchObject({ status: 200, body: { id } })
    left.push(id)
  }
}

const countsOf = (ids: readonly number[]) =>
  ids.reduce((counts, id) => counts.set(id, (counts.get(id) ?? 0) + 1), new Map<number, number>())

test('every patient record that a service sent before it was killed has its journal entry', {
  timeout: 120_000,
}, async () => {
  const dataDir = await scratch()
  const env = { ...PLAIN, DATA_DIR: dataDir, LOG_LEVEL: 'warn', DEMO: 'true' }
  const left: number[] = []
  let token: string | undefined
  for (let round = 1; round <= ROUNDS; round++) {
    const service = await startService(env)
    token ??= (await service.call('POST', '/api/auth/login', { body: ADMIN })).body.access_token
    const bearer = token as string
    const list = await service.call('GET', '/api/patients?limit=5', { token: bearer })
    const ids = list.body.items.map(({ id }: { id: number }) => id)
    const before = left.length
    const reading = Array.from({ length: READERS }, () => readOn(service, bearer, ids, left))
    await until('enough has left', () => left.length > before + ENOUGH || undefined)
    service.signal('SIGKILL')
    await service.ended
    await Promise.all(reading)
  }

  const last = await startService(env)
  const at = { host: `${dataDir}/run`, port: 5432, user: 'wardkeep_owner', database: 'wardkeep' }
  const entries = await query<{ id: string }>(
    at,
    `select resource_id as id from journal where action = 'patient.read'`,
  )
  const entered = countsOf(entries.map(({ id }) => Number(id)))
  const unentered = [...countsOf(left)].filter(([id, count]) => count > (entered.get(id) ?? 0))
  expect(unentered).toEqual([])
  expect(left.length).toBeGreaterThan(ROUNDS * ENOUGH)
  expect(await last.stop()).toEqual({ code: 0, signal: null })
  await nobodyLeft(dataDir)
})
