/** The lint refuses timers and clocks other than the injected one, except where biome.json names the file. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')
const RULES = ['lint/style/noRestrictedGlobals', 'lint/style/noRestrictedImports']

/** A use of time in one line, and whether the rule refuses the line. */
const uses: [line: string, isRefused: boolean][] = [
  [`import * as timers from 'node:timers'`, true],
  [`import { setTimeout as wait } from 'node:timers/promises'`, true],
  [`import { setImmediate as turn } from 'node:timers/promises'`, false],
  [`import { performance as measured } from 'node:perf_hooks'`, true],
  [`import { monitorEventLoopDelay } from 'node:perf_hooks'`, false],
  ['setTimeout(turn, 1)', true],
  ['setInterval(turn, 1)', true],
  ['performance.now()', true],
  ['setImmediate(turn)', false],
  [`fetch('http://localhost/')`, true],
]

/** Lints these lines as a file of server/src. Returns the refused lines. */
async function refusedIn(file: string): Promise<number[]> {
  const copy = await mkdtemp(path.join(tmpdir(), 'wardkeep-lint-'))
  onTestFinished(() => rm(copy, { recursive: true }))
  const {
    $schema: _,
    vcs: __,
    ...config
  } = JSON.parse(await readFile(`${root}/biome.json`, 'utf8'))
  await writeFile(`${copy}/biome.json`, JSON.stringify(config))
  const planted = path.join(copy, 'server/src', file)
  await mkdir(path.dirname(planted), { recursive: true })
  await writeFile(planted, uses.map(([line]) => line).join('\n'))
  const lint = promisify(execFile)(
    process.execPath,
    [`${root}/node_modules/@biomejs/biome/bin/biome`, 'lint', '--reporter=json', '.'],
    { cwd: copy },
  )
  // Biome exits with 1 when it refuses something.
  const { stdout } = await lint.catch((error) => error)
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { category: string; location: { start: { line: number } } }[]
  }
  return diagnostics
    .filter(({ category }) => RULES.includes(category))
    .map(({ location }) => location.start.line)
    .sort((a, b) => a - b)
}

const linesOf = (isIn: (use: (typeof uses)[number]) => boolean) =>
  uses.flatMap((use, index) => (isIn(use) ? [index + 1] : []))

test('the lint refuses direct use of timers and clocks, and allows calls such as setImmediate', async () => {
  expect(await refusedIn('features/users/planted.ts')).toEqual(
    linesOf(([, isRefused]) => isRefused),
  )
})

test('the lint refuses requests that bypass platform/net even in an excepted file', async () => {
  expect(await refusedIn('platform/observe/lines.ts')).toEqual(
    linesOf(([line]) => line.startsWith('fetch')),
  )
})
