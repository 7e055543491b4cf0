/** The launcher as users run it: `npm start` up to a response and a shutdown, and other commands. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'

test('npm starts the service with the launcher, and a signal stops both', async () => {
  const dataDir = await mkdtemp('/tmp/wardkeep-launch-')
  // If root runs this test, the account of the database must be able to enter the folder.
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
  await expect.poll(() => said, { timeout: 60_000 }).toMatch(/ready at http:\S+/)
  const address = /ready at (http:\S+)/.exec(said)?.[1]
  expect((await fetch(`${address}/readyz`)).status).toBe(200)
  launcher.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

test('npm runs a command of the service without output of the launcher', () => {
  const args = ['run', 'wardkeep', '--silent', '--', 'backup', 'identity']
  const run = (ENCRYPTION_KEY: string) =>
    spawnSync('npm', args, { env: { ...process.env, ENCRYPTION_KEY }, encoding: 'utf8' })
  const right = run(Buffer.alloc(32, 1).toString('base64'))
  expect(right, right.stderr).toMatchObject({ status: 0, stderr: '' })
  for (const line of right.stdout.trim().split('\n')) expect(line).toMatch(/^(#|AGE-SECRET-KEY-1)/)
  expect(run('short')).toMatchObject({ status: 1, stdout: '' })
})
