/**
 * Kills the embedded database server with SIGKILL while the service runs. The service answers 503 until the server has
 * recovered.
 */
import { expect, test } from 'vitest'
import { watch } from '../support/client.ts'
import { postmasterPid } from '../support/embedded.ts'
import { PLAIN, startService, tokenOf } from '../support/process.ts'
import { nobodyLeft } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

test('the service answers 503 each time its database server is down, and works again afterwards', {
  timeout: 120_000,
}, async () => {
  const dataDir = await scratch()
  const service = await startService({ ...PLAIN, DATA_DIR: dataDir, LOG_LEVEL: 'error' })
  const token = await tokenOf(service)
  const created: number[] = []
  let count = 0
  const client = watch({
    read: () => service.call('GET', '/api/admin/departments', { token }),
    write: async () => {
      const body = { name: `Ward ${count++}` }
      const answer = await service.call('POST', '/api/admin/departments', { token, body })
      if (answer.status === 201) created.push(answer.body.id)
      return answer
    },
    me: () => service.call('GET', '/api/users/me', { token }),
    ready: () => service.call('GET', '/readyz'),
    alive: () => service.call('GET', '/healthz'),
  })
  await client.allWell()
  for (let round = 1; round <= 4; round++) {
    const killed = await postmasterPid(dataDir)
    const refused = client.refused()
    process.kill(killed, 'SIGKILL')
    await refused
    await until('another server runs', async () =>
      (await postmasterPid(dataDir)) === killed ? undefined : true,
    )
    await client.allWell()
  }
  await client.stop()
  expect(client.wrong).toEqual([])
  expect(client.seen.alive.refused).toBe(0)

  const kept = new Set<number>()
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { body } = await service.call('GET', `/api/admin/departments?limit=100&page=${page}`, {
      token,
    })
    for (const { id } of body.items) kept.add(id)
    pages = body.pages
  }
  expect(created.length).toBeGreaterThan(4)
  expect(created.filter((id) => !kept.has(id))).toEqual([])
  expect(await service.stop()).toEqual({ code: 0, signal: null })
  await nobodyLeft(dataDir)
})
