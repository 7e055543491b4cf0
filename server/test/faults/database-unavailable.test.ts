/** The external database becomes unavailable: connections are cut, refused or silent, and then work again. */
import { expect, test } from 'vitest'
import { watch } from '../support/client.ts'
import { emptyDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { PLAIN, startService, tokenOf } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'

async function serviceBehindProxy() {
  const database = await emptyDatabase()
  const proxy = await proxyTo(database)
  const service = await startService({
    ...PLAIN,
    DATABASE_URL: proxy.url,
    DATA_DIR: await scratch(),
    LOG_LEVEL: 'error',
  })
  const token = await tokenOf(service)
  let count = 0
  const create = () => {
    const body = { name: `Ward ${count++}` }
    return service.call('POST', '/api/admin/departments', { token, body })
  }
  const requests = {
    read: () => service.call('GET', '/api/admin/departments', { token }),
    write: create,
    me: () => service.call('GET', '/api/users/me', { token }),
    ready: () => service.call('GET', '/readyz'),
    alive: () => service.call('GET', '/healthz'),
  }
  return { database, proxy, service, token, create, requests }
}

test('the service answers 503 without a restart while database connections are cut or refused', {
  timeout: 120_000,
}, async () => {
  const { proxy, service, requests } = await serviceBehindProxy()
  const client = watch(requests)
  await client.allWell()
  for (let round = 0; round < 3; round++) {
    proxy.cut()
    await client.allWell()
  }
  for (let round = 0; round < 3; round++) {
    const refused = Promise.all((['read', 'write', 'ready'] as const).map(client.refused))
    await proxy.refuse()
    await refused
    await proxy.open()
    await client.allWell()
  }
  await client.stop()
  expect(client.wrong).toEqual([])
  expect(client.seen.alive.refused).toBe(0)
  expect(await service.stop()).toEqual({ code: 0, signal: null })
})

test('the service answers 503 once the database stops responding, and works again when the database responds', {
  timeout: 120_000,
}, async () => {
  const { proxy, requests } = await serviceBehindProxy()
  const client = watch(requests)
  await client.allWell()
  const refused = Promise.all((['read', 'write', 'me', 'ready'] as const).map(client.refused))
  proxy.stall()
  await refused
  await proxy.open()
  await client.allWell()
  await client.stop()
  expect(client.wrong).toEqual([])
  expect(client.seen.alive.refused).toBe(0)
})

test('the service answers 503 if the response to a commit is lost, whether or not the commit succeeded', async () => {
  const { database, proxy, create, requests } = await serviceBehindProxy()
  expect(await create()).toMatchObject({ status: 201 })
  proxy.loseCommitAnswerOf('Ward 1')
  const unknown = await create()
  expect(unknown).toMatchObject({ status: 503, body: { code: 'database_away' } })
  expect(Number(unknown.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(proxy.lost()).toBe(1)
  // This commit succeeded: its row and its journal entry exist.
  const kept = await database.sql(
    `select d.name from departments d join journal j
       on j.resource_id = d.id::text and j.action = 'department.created' order by d.id`,
  )
  expect(kept).toEqual([{ name: 'Ward 0' }, { name: 'Ward 1' }])
  expect(await requests.read()).toMatchObject({ status: 200 })
})
