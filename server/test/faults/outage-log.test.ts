/** The log and self-healing while the database is away for some seconds, under load. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { goldenDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const AWAY_MS = 4_000

const messagesOf = ({ logged }: Service, ...levels: string[]) =>
  logged.filter(([level]) => levels.includes(String(level))).map(([, , message]) => message)
const backsOf = (service: Service) =>
  service.logged.filter(([, , message]) => message === 'database reachable again')

test('the service logs one line when a database outage begins and one when it ends, and creates no finding', async () => {
  const database = await goldenDatabase()
  const proxy = await proxyTo(database)
  const service = await openService({
    database: { ...database, address: { url: proxy.url } },
    background: ['jobs', 'webhooks', 'payments', 'messenger'],
  })
  const clinic = await makeClinic(service, await superadmin(service), 'north')
  const { token } = clinic.people.admin
  let count = 0
  const create = async () => {
    const body = { name: `Ward ${count++}` }
    return (await service.call('POST', '/api/admin/departments', { token, body })).status
  }
  const scan = async () =>
    (await service.app.features.selfHealing.scan())?.fixes.flatMap(
      ({ key, occurrences, unknown }) => (occurrences > 0 || unknown ? [key] : []),
    )
  const before = await scan()
  expect(await create()).toBe(201)
  service.logged.length = 0
  const stopping = new AbortController()
  const statuses = new Set<number>()
  const load = (async () => {
    while (!stopping.signal.aborted) {
      statuses.add(await create())
      await delay(20)
    }
  })()
  await proxy.refuse()
  await delay(AWAY_MS)
  await proxy.open()
  await until('it is back', () => backsOf(service)[0])
  await until('it writes again', async () => (await create()) === 201 || undefined)
  stopping.abort()
  await load
  expect([...statuses].filter((status) => status !== 201)).toEqual([503])
  expect(messagesOf(service, 'warn', 'error')).toEqual(['database not reachable'])
  expect(backsOf(service)).toHaveLength(1)
  const [[, fields] = []] = backsOf(service)
  const { away_ms, failures } = fields as { away_ms: number; failures: number }
  expect(away_ms).toBeGreaterThanOrEqual(AWAY_MS)
  expect(failures).toBeGreaterThan(1)
  expect(await scan()).toEqual(before)
})
