/** The generated password of the first superadmin is written to a file, regardless of how the first start ends. */
import { readFileSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { emptyDatabase, migratedDatabase, type TestDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { command, finished, PLAIN, startService, tokenOf } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

const { BOOTSTRAP_ADMIN_EMAIL: email, BOOTSTRAP_ADMIN_PASSWORD: _, ...NO_PASSWORD } = PLAIN

const envOn = async (database: TestDatabase) => ({
  ...NO_PASSWORD,
  BOOTSTRAP_ADMIN_EMAIL: email,
  DATABASE_URL: (await proxyTo(database)).url,
  DATA_DIR: await scratch(),
})

/** Returns all written passwords, from the files that the output names. */
const passwordsIn = (stdout: string) =>
  [...stdout.matchAll(/password in (\S+) /g)].map(([, file = '']) => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
    return readFileSync(file, 'utf8').trim()
  })

/**
 * Restarts the service, and signs in with the password of the earlier start, whose output is `before`. The earlier
 * output must have exactly one password, and the new one none.
 */
async function signsIn(env: NodeJS.ProcessEnv, before: string): Promise<void> {
  const [password = '', ...others] = passwordsIn(before)
  expect(password.length).toBeGreaterThan(12)
  expect(others).toEqual([])
  const service = await startService(env)
  expect(passwordsIn(service.stdout())).toEqual([])
  await tokenOf(service, { email, password, subdomain: 'platform' })
  await service.stop()
}

test('no superadmin is created if the port is in use, and the next start prints the password', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const env = await envOn(await emptyDatabase())
  const first = await finished(['start'], { ...env, PORT: String(port) })
  expect(first).toMatchObject({ code: 1, stdout: '' })
  expect(first.stderr).toMatch(new RegExp(`^PORT: port ${port} is already in use .*\\.\\n$`))
  const service = await startService(env)
  const [password = ''] = passwordsIn(service.stdout())
  await tokenOf(service, { email, password, subdomain: 'platform' })
  await service.stop()
})

test('the password of the superadmin is printed if the password file cannot be written', async () => {
  const env = await envOn(await emptyDatabase())
  await mkdir(join(env.DATA_DIR, 'first-password'))
  const service = await startService(env)
  const [, password = ''] = /password (\S+) +\(shown only once/.exec(service.stdout()) ?? []
  await tokenOf(service, { email, password, subdomain: 'platform' })
  await service.stop()
})

test('the password of the superadmin is printed even if the first start fails while it creates the demo', async () => {
  const database = await migratedDatabase()
  await database.sql('alter table departments add constraint no_demo check (false)')
  const env = await envOn(database)
  const first = await finished(['start'], { ...env, DEMO: 'true' })
  expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining('no_demo') })
  await signsIn(env, first.stdout)
})

test("a worker that starts first prints the superadmin's password, but not in its log", async () => {
  const env = await envOn(await emptyDatabase())
  const worker = command(['start', '--role', 'worker'], env)
  await until(
    'it works',
    () => worker.stdout().includes('background work started') || undefined,
    60_000,
  )
  worker.signal('SIGTERM')
  expect(await worker.ended).toEqual({ code: 0, signal: null })
  const logged = worker
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
  expect(logged.join()).not.toContain(passwordsIn(worker.stdout())[0])
  expect(worker.stdout()).not.toContain(passwordsIn(worker.stdout())[0])
  await signsIn(env, worker.stdout())
})
