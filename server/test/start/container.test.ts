/** The image's health check, run beside a process of each role, and its `wardkeep` command. */
import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, textOf } from '../docs/documents.ts'
import { command, PLAIN } from '../support/process.ts'
import { refusedPort } from '../support/refused-port.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

/** The output of a process that is ready to serve or to do background work. */
const UP = /Wardkeep is ready|background work started/

const dockerfile = textOf('Dockerfile').replaceAll(/\\\n\s*/g, '')
const [, check = '[]'] = /^HEALTHCHECK .*?CMD (\[.+\])$/m.exec(dockerfile) ?? []
const [, ...args]: string[] = JSON.parse(check)

/** Runs the image's health check with these variables. Returns whether it finds the container healthy. */
const isHealthy = (env: NodeJS.ProcessEnv) =>
  new Promise<boolean>((resolve) =>
    execFile(process.execPath, args, { env }, (error) => resolve(error === null)),
  )

test.each(['all', 'api', 'worker'])(
  'a container of the role %s becomes healthy once the service is up',
  async (role) => {
    expect(dockerfile).toMatch(/^ENV .*\bPORT=\d+ METRICS_PORT=\d+/m)
    const [http, metrics] = [await refusedPort(), await refusedPort()]
    const ports = { PORT: String(http.port), METRICS_PORT: String(metrics.port) }
    expect(await isHealthy(ports)).toBe(false)
    await Promise.all([http.free(), metrics.free()])
    const env = { ...PLAIN, ...ports, DATA_DIR: await scratch() }
    const container = command(['start', '--role', role], env)
    await until('it is up', () => UP.test(container.stdout()) || undefined, 60_000)
    expect(await isHealthy(ports)).toBe(true)
    container.signal('SIGTERM')
    expect(await container.ended).toEqual({ code: 0, signal: null })
  },
)

test('the image has the command `wardkeep` on its PATH', async () => {
  const [, target = '', link = ''] = /^RUN ln -s \/app\/(\S+) (\S+)$/m.exec(dockerfile) ?? []
  expect(link).toBe('/usr/local/bin/wardkeep')
  const folder = await scratch()
  await symlink(join(ROOT, target), join(folder, 'wardkeep'))
  const PATH = `${folder}:${dirname(process.execPath)}:/usr/bin:/bin`
  const told = await new Promise<string>((resolve, reject) =>
    execFile('wardkeep', ['--version'], { env: { PATH } }, (error, out) =>
      error ? reject(error) : resolve(out),
    ),
  )
  expect(told).toMatch(/^\d+\.\d+\.\d+\n$/)
})
