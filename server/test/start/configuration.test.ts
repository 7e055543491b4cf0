/** The command line and its configuration: invalid values, the metrics, and all commands except `start`. */
import { describe, expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import {
  command,
  finished,
  freePort,
  PLAIN,
  refusedStart,
  startService,
  tokenOf,
} from '../support/process.ts'
import { nobodyLeft } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

test('a start reports every invalid variable, one per line, and changes nothing', async () => {
  const dataDir = await scratch()
  const lines = await refusedStart({
    DATA_DIR: dataDir,
    PORT: '80a',
    TENANT_MODE: 'many',
    BOOTSTRAP_ADMIN_PASSWORD: 'short',
    CORS_ORIGINS: 'https://ok.example, console.example.org/path',
    LOG_LEVEL: 'loud',
    DEMO: 'maybe',
  })
  expect(lines.map((line) => line.split(':')[0]).sort()).toEqual([
    'BOOTSTRAP_ADMIN_PASSWORD',
    'CORS_ORIGINS',
    'DEMO',
    'LOG_LEVEL',
    'PORT',
    'TENANT_MODE',
  ])
  for (const line of lines) expect(line).toMatch(/^[A-Z_]+: .+\.$/)
  await nobodyLeft(dataDir)
})

test('a common password for the first superadmin is rejected with the reason', async () => {
  const lines = await refusedStart({
    ...PLAIN,
    DATA_DIR: await scratch(),
    LOG_LEVEL: 'error',
    BOOTSTRAP_ADMIN_PASSWORD: 'password123',
  })
  expect(lines).toEqual([expect.stringMatching(/^BOOTSTRAP_ADMIN_PASSWORD: .+\.$/)])
})

test('a worker serves only its health and metrics, at METRICS_HOST and METRICS_PORT', async () => {
  const port = await freePort()
  const worker = command(['start', '--role', 'worker'], {
    ...PLAIN,
    DATA_DIR: await scratch(),
    METRICS_PORT: String(port),
    METRICS_HOST: '127.0.0.2',
  })
  await until('it works', () => worker.stdout().includes('background work started') || undefined)
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.2:${port}${path}`)).status
  expect(await Promise.all(['/healthz', '/metrics', '/api/users/me'].map(statusOf))).toEqual([
    200, 200, 404,
  ])
  await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
  worker.signal('SIGTERM')
  expect(await worker.ended).toEqual({ code: 0, signal: null })
})

test('METRICS_PORT also serves the numbers of requests', async () => {
  const port = await freePort()
  const service = await startService({
    ...PLAIN,
    DATA_DIR: await scratch(),
    METRICS_PORT: String(port),
  })
  for (let count = 0; count < 3; count++) await service.call('GET', '/healthz')
  await service.call('GET', '/api/users/me')
  const metrics = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect(metrics.status).toBe(200)
  expect(metrics.headers.get('content-type')).toContain('text/plain')
  const text = await metrics.text()
  const counted = (route: string, status: number) =>
    text
      .split('\n')
      .find(
        (line) =>
          line.startsWith('wardkeep_http_requests_total{') &&
          line.includes(`route="${route}"`) &&
          line.includes(`status="${status}"`),
      )
      ?.split(' ')
      .at(-1)
  expect(counted('/healthz', 200)).toBe('3')
  expect(counted('/api/users/me', 401)).toBe('1')
  expect(text).toContain('wardkeep_http_request_seconds_bucket')
  expect(text).toContain('process_cpu_seconds_total')
  // The port of the API must not serve the metrics.
  expect(await service.call('GET', '/metrics')).toMatchObject({ status: 404 })
  expect(await service.stop()).toEqual({ code: 0, signal: null })
})

describe('the command', () => {
  test('migrate updates the database to the current schema, and changes nothing when repeated', async () => {
    const database = await emptyDatabase()
    const env = { DATABASE_URL: (await proxyTo(database)).url }
    for (let time = 0; time < 2; time++) {
      const { code, stdout } = await finished(['migrate'], env)
      expect(code).toBe(0)
      expect(stdout).toMatch(/The database schema is at version \d+\./)
    }
    const [found] = await database.sql<{ count: number }>('select count(*) from migrations')
    expect(found?.count).toBeGreaterThan(4)
    expect(await database.sql('select count(*) from users')).toEqual([{ count: 0 }])
  })

  test('restore-tenant restores a tenant, and rotate-signing-key signs nobody out', async () => {
    const database = await emptyDatabase()
    const env = { ...PLAIN, DATABASE_URL: (await proxyTo(database)).url, DATA_DIR: await scratch() }
    const service = await startService(env)
    const token = await tokenOf(service)
    const tenant = await service.call('POST', '/api/admin/tenants', {
      token,
      body: { name: 'North', subdomain: 'north' },
    })
    const path = `/api/admin/tenants/${tenant.body.id}`
    expect(await service.call('DELETE', path, { token })).toMatchObject({ status: 204 })
    expect(await service.call('GET', path, { token })).toMatchObject({ status: 404 })
    const restored = await finished(['restore-tenant', String(tenant.body.id)], env)
    expect(restored).toMatchObject({ code: 0, stderr: '' })
    expect(restored.stdout).toContain(`Tenant ${tenant.body.id} (north) was restored.`)
    expect(await service.call('GET', path, { token })).toMatchObject({ status: 200 })
    const journal = await database.sql(
      'select action from journal where tenant_id = $1 order by id',
      [tenant.body.id],
    )
    expect(journal.map(({ action }) => action)).toEqual([
      'tenant.created',
      'tenant.deleted',
      'tenant.restored',
    ])

    const rotated = await finished(['rotate-signing-key'], env)
    expect(rotated).toMatchObject({ code: 0, stderr: '' })
    const kid = /signed with key (\S+)\./.exec(rotated.stdout)?.[1]
    const kids = await until('the service has heard of the key', async () => {
      const { body } = await service.call('GET', '/.well-known/jwks.json')
      const known: string[] = body.keys.map((key: { kid: string }) => key.kid)
      return kid !== undefined && known.includes(kid) ? known : undefined
    })
    expect(kids).toHaveLength(2)
    expect(await service.call('GET', '/api/users/me', { token })).toMatchObject({ status: 200 })
    const fresh = await tokenOf(service)
    const head = JSON.parse(Buffer.from(fresh.split('.')[0] ?? '', 'base64url').toString())
    expect(head.kid).toBe(kid)
    expect(await service.call('GET', '/api/users/me', { token: fresh })).toMatchObject({
      status: 200,
    })

    for (const id of ['999999', 'north', '-1', '1.5', '1e400']) {
      const refused = await finished(['restore-tenant', '--', id], env)
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(/^[^\n]+\n$/)
    }
  })

  test.each([
    [['restore-tenant'], /missing required argument/],
    [['restore-tenant', '1', '2'], /too many arguments/],
    [['begin'], /unknown command/],
    [['start', '--port', '1'], /unknown option/],
  ])('with the arguments %j is rejected with a clear message', async (args, sentence) => {
    const { code, stderr } = await finished(args, {})
    expect(code).toBe(1)
    expect(stderr).toMatch(sentence)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test.each(['migrate', 'restore-tenant 1', 'rotate-signing-key'])(
    '%s explains what is wrong with the database or the configuration',
    async (line) => {
      const args = line.split(' ')
      const away = { DATABASE_URL: `postgres://x:y@127.0.0.1:${await freePort()}/z` }
      const refused = await finished(args, away)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(/^DATABASE_URL: [^\n]+\n$/)
      const wrong = await finished(args, { PORT: 'x' })
      expect(wrong).toMatchObject({ code: 1, stdout: '' })
      expect(wrong.stderr).toMatch(/^PORT: [^\n]+\n$/)
    },
  )
})
