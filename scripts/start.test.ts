/** `npm start` as a person runs it: through the launcher, to a service that answers and stops. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'

test('the launcher starts the service, and a signal stops both', async () => {
  const dataDir = await mkdtemp('/tmp/wardkeep-launch-')
  // Started by root, the database's account must be able to pass.
  await chmod(dataDir, 0o711)
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const launcher = spawn(process.execPath, ['scripts/launch.mjs', 'start'], {
    env: { ...process.env, DATA_DIR: dataDir, PORT: '0', DEMO: 'false', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(launcher, 'exit')
  let said = ''
  launcher.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await expect.poll(() => said, { timeout: 25_000 }).toMatch(/ready at http:\S+/)
  const address = /ready at (http:\S+)/.exec(said)?.[1]
  expect((await fetch(`${address}/readyz`)).status).toBe(200)
  launcher.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})
