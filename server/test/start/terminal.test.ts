/** Startup in a terminal prints readable lines, and prints the generated password instead of writing it to a file. */
import { spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { INHERITED, PLAIN } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

test('a start in a terminal shows readable log lines, and the password once', async () => {
  const dataDir = await scratch()
  const { BOOTSTRAP_ADMIN_PASSWORD: _, ...env } = PLAIN
  const { url } = await emptyDatabase()
  // `script` gives the program a terminal.
  const child = spawn('script', ['-qefc', `"${process.execPath}" "${MAIN}" start`, '/dev/null'], {
    env: { ...INHERITED, ...env, TERM: 'xterm', DATABASE_URL: url, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  await until('the service is ready', () => /Wardkeep is ready/.test(shown) || undefined, 60_000)
  expect(shown).toMatch(/password \S{12,} +\(shown only once/)
  expect(shown).toMatch(/\[\d\d:\d\d:\d\d\].*INFO.*change listener connected/)
  expect(shown).not.toMatch(/^\{"level"/m)
  expect(await readdir(dataDir)).not.toContain('first-password')
  child.kill('SIGTERM')
  await ended
})
