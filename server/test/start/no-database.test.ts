/** Commands without a database. Only `start` and `migrate` create a database, and every other command fails. */
import { existsSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runCommand } from '../docs/command.ts'
import { emptyDatabase } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { ROOT_KEY } from '../support/service.ts'

/** The commands that create a database or need none. */
const EXCEPT = ['start', 'migrate', 'backup identity', 'help']

/** The options without which a command is malformed. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'backup restore': ['--yes'],
  'audit export': ['--out', 'log.jsonl'],
  'audit erase': ['--tenant', '1', '--user', '2', '--reason', 'requested'],
}

const COMMAND = /^ {2}([a-z][a-z-]*)(?: \[options\])?((?: <[a-z-]+>)*)/gm
const ID = '0197a0c4-0000-7000-8000-000000000001'

/** Returns every command with valid arguments, read from its help. */
async function commands(path: readonly string[] = []): Promise<string[][]> {
  const { stdout } = await runCommand([...path, '--help'], {})
  const [, listed = ''] = stdout.split('Commands:\n')
  if (listed === '') return [[...path]]
  const found: string[][] = []
  for (const [, name = '', placeholders = ''] of listed.matchAll(COMMAND)) {
    if (name === 'help') continue
    const values = [...placeholders.matchAll(/<([a-z-]+)>/g)].map(([, of]) =>
      of === 'id' ? '1' : ID,
    )
    const below = await commands([...path, name])
    found.push(...below.map((command) => [...command, ...values]))
  }
  return found
}

const ALL = (await commands()).filter(
  (command) => !EXCEPT.some((except) => command.join(' ').startsWith(except)),
)

test('more than eight commands need a database', () => {
  expect(ALL.length).toBeGreaterThan(8)
})

// A test for each, because a busy machine needs seconds to start a command.
describe.each(ALL.map((command) => [command.join(' '), command] as const))('%s', (_, command) => {
  test('fails if the data folder contains no database, and creates no file', async () => {
    const DATA_DIR = join(await scratch(), 'forgotten')
    const options = REQUIRED[command.slice(0, 2).join(' ')] ?? []
    expect(await runCommand([...command, ...options], { DATA_DIR })).toEqual({
      // For the audit commands, 1 means an altered log.
      code: command[0] === 'audit' ? 2 : 1,
      stdout: '',
      stderr: expect.stringContaining(`${DATA_DIR} does not contain a database`),
    })
    expect(existsSync(DATA_DIR)).toBe(false)
  })
})

test('a command leaves an empty data folder empty', async () => {
  const DATA_DIR = join(await scratch(), 'empty')
  await mkdir(DATA_DIR)
  expect((await runCommand(['backup', 'create'], { DATA_DIR })).code).toBe(1)
  expect(await readdir(DATA_DIR)).toEqual([])
})

test('a command leaves an empty database in DATABASE_URL empty', async () => {
  const database = await emptyDatabase()
  for (const command of [['backup', 'create'], ['keys', 'verify'], ['rotate-signing-key']]) {
    const ended = await runCommand(command, {
      DATABASE_URL: database.url,
      DATA_DIR: join(await scratch(), 'nothing'),
      ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
    })
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no Wardkeep tables'),
    })
  }
  expect(
    await database.sql(`select from pg_class where relnamespace = 'public'::regnamespace`),
  ).toEqual([])
})
