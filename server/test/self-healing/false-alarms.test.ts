/**
 * A healthy service. Continuous scans propose nothing during requests, while another node restarts, while connections
 * are cut, and while the database restarts. `npm run chaos` scans for a minute each.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, test, vi } from 'vitest'
import { problemOf } from '../../src/platform/db/index.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { databaseOn } from '../support/database.ts'
import { postmasterPid, started } from '../support/embedded.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

vi.setConfig({ testTimeout: 240_000 })

const isFull = inject('chaos') === 'full'
const SCANS = isFull ? 60 : 15
const RESTARTS: NodeJS.Signals[] = ['SIGKILL', 'SIGINT']
/** The number of database outages of each kind, and of scans after each. */
const [TIMES, SCANS_AFTER] = isFull ? [3, 10] : [1, 3]
const PAUSE_MS = isFull ? 1000 : 0

/** Simulated callers that run until they are stopped. */
interface Load {
  /** Returns how many rounds have ended with the expected answers only. */
  readonly rounds: () => number
  /** @throws Error when an answer was unexpected */
  stop(): Promise<void>
}

/**
 * Signs users in and out, and creates and deletes departments.
 * @param tolerated a status that ends a round without counting as unexpected
 */
async function startLoad(service: Service, tolerated?: number): Promise<Load> {
  const name = `loaded-${crypto.randomUUID()}`
  const clinic = await makeClinic(service, await superadmin(service), name)
  const { email, password, token } = clinic.people.admin
  let isOver = false
  let [begun, done] = [0, 0]

  async function round(): Promise<void> {
    begun += 1
    const credentials = { email, password, subdomain: clinic.subdomain }
    const body = { name: `Ward ${begun}`, head_doctor_id: clinic.people.doctor.id }
    const [signedIn, made] = await Promise.all([
      service.call('POST', '/api/auth/login', { body: credentials }),
      service.call('POST', '/api/admin/departments', { token, body }),
    ])
    if (!isAs([200, 201], [signedIn, made])) return
    const ended = await Promise.all([
      service.call('POST', '/api/auth/logout', { token: signedIn.body.access_token, body: {} }),
      service.call('DELETE', `/api/admin/departments/${made.body.id}`, { token }),
    ])
    if (isAs([200, 204], ended)) done += 1
  }

  function isAs(expected: readonly number[], answers: readonly Answer[]): boolean {
    const statuses = answers.map(({ status }) => status)
    if (tolerated !== undefined && statuses.includes(tolerated)) return false
    expect(statuses).toEqual(expected)
    return true
  }

  async function loop(): Promise<void> {
    while (!isOver) await round()
  }
  const looping = loop()
  // Ignored here, because `stop` reports the failure.
  looping.catch(() => undefined)
  return {
    rounds: () => done,
    async stop() {
      isOver = true
      await looping
    },
  }
}

const scan = (service: Service) => service.app.features.selfHealing.scan()

/** Scans while the given work runs on the service. Expects no finding. */
async function scanBeside(
  service: Service,
  scans: number,
  meanwhile: (count: number) => Promise<unknown>,
): Promise<void> {
  for (let count = 1; count <= scans; count += 1) {
    const done = meanwhile(count)
    const scanned = await scan(service)
    expect(scanned?.fixes.filter((fix) => fix.occurrences > 0 || fix.unknown !== null)).toEqual([])
    await done
    if (PAUSE_MS > 0) await delay(PAUSE_MS)
  }
}

/**
 * Scans until `back` is fulfilled. While the database is unavailable, a scan may fail or be unable to check, but it
 * must not find anything.
 */
async function scanWhileAway(service: Service, back: Promise<unknown>): Promise<void> {
  let isBack = false
  const watched = back.then(() => {
    isBack = true
  })
  while (!isBack) {
    try {
      const scanned = await scan(service)
      expect(scanned?.fixes.filter((fix) => fix.occurrences > 0)).toEqual([])
    } catch (error) {
      expect(problemOf(error)?.code, String(error)).toBe('database_away')
      await Promise.race([watched, delay(20)])
    }
  }
  await watched
}

/** Expects no finding, no repair and no report. */
async function expectNothing({ database }: Service): Promise<void> {
  const left = await database.sql(
    `select action as what from journal where action like 'self\\_healing.%'
     union all select subject from self_healing_findings
     union all select subject from self_healing_repairs
     union all select key from self_healing_fixes where status <> 'idle' or unknown is not null`,
  )
  expect(left).toEqual([])
}

const aNodeComesAndGoes = async ({ database }: Service) =>
  (await openService({ database, role: 'worker' })).close()

test('no fix is proposed during load with a second node and cut connections', async () => {
  const service = await openService({ config: { SELF_HEALING: 'auto' } })
  const load = await startLoad(service)
  await scanBeside(service, SCANS, async (count) => {
    if (count % 5 === 0) await aNodeComesAndGoes(service)
    if (count % 5 === 1)
      await service.database.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and query ilike '%listen%' and pid <> pg_backend_pid()`,
      )
  })
  await load.stop()
  expect(load.rounds()).toBeGreaterThan(0)
  await expectNothing(service)
})

// The test restarts a server of its own, so one run with the embedded server is enough.
test.skipIf('url' in inject('server'))(
  'no fix is proposed after the database crashed or restarted during load and scans',
  async () => {
    const dataDir = await scratch()
    const server = await started(dataDir, { max_connections: '100', fsync: 'off' })
    await migrate(server.connection, silentLog)
    const database = databaseOn(server.connection)
    const service = await openService({ database, config: { SELF_HEALING: 'auto' } })
    const load = await startLoad(service, 503)

    async function restart(signal: NodeJS.Signals): Promise<void> {
      const ended = await postmasterPid(dataDir)
      process.kill(ended, signal)
      await until('another server runs', async () =>
        (await postmasterPid(dataDir)) === ended ? undefined : true,
      )
      await until('the service is ready', async () =>
        (await service.call('GET', '/readyz')).status === 200 ? true : undefined,
      )
      const before = load.rounds()
      await until('callers are served', () => load.rounds() > before || undefined)
    }

    for (const signal of Array<NodeJS.Signals[]>(TIMES).fill(RESTARTS).flat()) {
      await scanWhileAway(service, restart(signal))
      await scanBeside(service, SCANS_AFTER, async (count) => {
        if (count % 3 === 0) await aNodeComesAndGoes(service)
      })
    }
    await load.stop()
    await expectNothing(service)
  },
)
