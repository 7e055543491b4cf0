/** Tests log lines as a program parses them: their fields, and that they contain no secrets. */
import { type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'

/** A script that runs in a separate process, because the log writes to standard output. */
const IMPORT = `import { openLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}`
const run = (script: string) => [process.execPath, ['--input-type=module', '-e', script]] as const
const SCRIPT = `
  ${IMPORT}
  const log = openLog('info')
  log.debug({}, 'not at this level')
  const secrets = ['password', 'token', 'access_token', 'refresh_token', 'secret', 'authorization']
  for (const name of secrets) log.info({ [name]: 'hush-' + name, kept: 1 }, 'fields')
  log.warn({ user_id: 5, tenant_id: 2 }, 'plain')
  const cause = Object.assign(new Error('duplicate key'), {
    code: '23505', constraint: 'users__email', detail: 'Key (email)=(hush@clinic.test) exists.',
    where: 'hush-where', parameters: ['hush-parameter'],
  })
  log.error({ err: new Error('outer', { cause }) }, 'failed')
  log.error({ err: cause }, 'failed plainly')
  log.error({ err: 'text that was thrown' }, 'failed oddly')
`

let output: string
let lines: any[]

beforeAll(async () => {
  const child = spawn(...run(SCRIPT), { stdio: ['ignore', 'pipe', 'inherit'] })
  output = await text(child.stdout)
  lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
})

const byMessage = (message: string) => lines.filter(({ msg }) => msg === message)

describe('a log line', () => {
  test('is JSON with the time, the level as a word, and the message', () => {
    expect(byMessage('plain')).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        user_id: 5,
        tenant_id: 2,
        msg: 'plain',
      },
    ])
  })

  test('is not written if its level is below the configured level', () => {
    expect(byMessage('not at this level')).toEqual([])
  })

  test('masks each secret and keeps the other fields', () => {
    expect(byMessage('fields')).toHaveLength(6)
    for (const line of byMessage('fields')) {
      expect(Object.values(line)).toContain('[secret]')
      expect(line.kept).toBe(1)
    }
  })

  test('includes the cause and stack of an error, but no values of the affected row', () => {
    const [line] = byMessage('failed')
    expect(line.err).toMatchObject({
      message: 'outer',
      stack: expect.stringContaining('Error: outer'),
      cause: { message: 'duplicate key', code: '23505', constraint: 'users__email' },
    })
    expect(byMessage('failed plainly')[0].err.constraint).toBe('users__email')
    expect(byMessage('failed oddly')[0].err).toEqual({ message: 'text that was thrown' })
  })
})

test('no log line contains a secret', () => {
  expect(lines.length).toBeGreaterThan(8)
  expect(output).not.toContain('hush')
})

describe.skipIf(process.platform !== 'linux').each([
  ['standard output', 1],
  ['standard error', 2],
] as const)('a full disk behind %s', (_, to) => {
  test.each([
    ['with a line logged just before the end', `log.warn({}, 'short')`],
    [
      'with lines logged earlier',
      `const fill = () => log.warn({ text: 'x'.repeat(9_000) }, 'long')
       fill()
       process.once('beforeExit', () => setTimeout(fill))`,
    ],
  ])('neither crashes the process nor delays its exit: %s', async (_, script) => {
    await using full = await open('/dev/full', 'w')
    const stdio: StdioOptions = to === 1 ? ['ignore', full.fd, 'pipe'] : ['ignore', 'pipe', full.fd]
    const child = spawn(...run(`${IMPORT}\nconst log = openLog('info', ${to})\n${script}`), {
      stdio,
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
