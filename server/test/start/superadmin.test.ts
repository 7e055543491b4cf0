/** The generated password of the first superadmin reaches people by a file, however the first start goes on. */
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

/** All that were written, by the files that the output names. */
const passwordsIn = (stdout: string) =>
  [...stdout.matchAll(/password in (\S+) /g)].map(([, file = '']) => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
    return readFileSync(file, 'utf8').trim()
  })

/** Starts the service again, and signs in with the one password that was printed before. */
async function signsIn(env: NodeJS.ProcessEnv, before: string): Promise<void> {
  const [password = '', ...others] = passwordsIn(before)
  expect(password.length).toBeGreaterThan(12)
  expect(others).toEqual([])
  const service = await startService(env)
  expect(passwordsIn(service.stdout())).toEqual([])
  await tokenOf(service, { email, password, subdomain: 'platform' })
  await service.stop()
}

test('a first start whose port is taken has made none, and the next one prints it', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const env = await envOn(await emptyDatabase())
  const first = await finished(['start'], { ...env, PORT: String(port) })
  expect(first).toMatchObject({ code: 1, stdout: '' })
  expect(first.stderr).toMatch(new RegExp(`^PORT: ${port} is taken .*\\.\\n$`))
  const service = await startService(env)
  const [password = ''] = passwordsIn(service.stdout())
  await tokenOf(service, { email, password, subdomain: 'platform' })
  await service.stop()
})

test('a file that cannot be written leaves the password in the output', async () => {
  const env = await envOn(await emptyDatabase())
  await mkdir(join(env.DATA_DIR, 'first-password'))
  const service = await startService(env)
  const [, password = ''] = /password (\S+) +\(shown this once/.exec(service.stdout()) ?? []
  await tokenOf(service, { email, password, subdomain: 'platform' })
  await service.stop()
})

test('a first start that fails at the demo has printed it', async () => {
  const database = await migratedDatabase()
  await database.sql('alter table departments add constraint no_demo check (false)')
  const env = await envOn(database)
  const first = await finished(['start'], { ...env, DEMO: 'true' })
  expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining('no_demo') })
  await signsIn(env, first.stdout)
})

test('a worker that is there first prints it, and not in its log', async () => {
  const env = await envOn(await emptyDatabase())
  const worker = command(['start', '--role', 'worker'], env)
  await until(
    'it works',
    () => worker.stdout().includes('doing background work') || undefined,
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
