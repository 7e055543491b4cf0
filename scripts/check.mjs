/** Runs every check that needs no test, in as many processes as there are cores, and summarizes the failures. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { tooLarge } from './check/console-sizes.ts'
import { tooLongFunctions } from './check/function-lengths.ts'
import { refusedWords } from './check/words.ts'
import { prepareConsole } from './launch/console.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const generated = [
  'server/openapi.json',
  'server/schema.sql',
  'server/migrations/checksums.txt',
  'client/src/generated/api.ts',
  'docs/reference/command-line.md',
  'docs/reference/configuration.md',
  'docs/reference/metrics.md',
]
const longestFile = 400

const checks = [
  { name: 'generated files are up to date', run: generatedFiles },
  { name: 'types', run: tool('typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json') },
  {
    name: 'types of the console',
    run: tool('typescript/bin/tsc', '--noEmit', '-p', 'console/tsconfig.json'),
  },
  {
    name: 'format and lint',
    run: tool('@biomejs/biome/bin/biome', 'check', '--error-on-warnings'),
  },
  { name: 'dependency rules', run: dependencyRules },
  { name: 'unused code', run: tool('knip/bin/knip.js', '--no-progress') },
  { name: 'contract', run: tool('@redocly/cli/bin/cli.js', 'lint', 'server/openapi.json') },
  { name: `files of at most ${longestFile} lines`, run: fileLengths },
  { name: 'functions of a screen', run: functionLengths },
  { name: 'size of the console', run: consoleSizes },
  { name: 'words', run: words },
]

/** Returns a check that runs the tool. A check returns its findings as text, or nothing. */
function tool(script, ...args) {
  return async () => {
    const { code, output } = await node(path.join('node_modules', script), ...args)
    return code === 0 ? '' : output || `${script} ended with ${code}`
  }
}

function node(script, ...args) {
  const env = {
    ...process.env,
    FORCE_COLOR: process.stdout.isTTY ? '1' : '0',
    // Disables telemetry and update notices, so that checks work without a network.
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  }
  const child = spawn(process.execPath, [path.join(root, script), ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}

/** Checks the dependency rules, and the number of modules, because a tool that reads no module passes too. */
async function dependencyRules() {
  const config = '.dependency-cruiser.cjs'
  const folders = ['server', 'client', 'console', 'bench']
  return tool('dependency-cruiser/bin/dependency-cruiser.mjs', '--config', config, ...folders)()
}

async function fileLengths() {
  const exclude = [
    '**/node_modules/**',
    '**/dist/**',
    '.runtime/**',
    'data/**',
    'coverage/**',
    ...generated,
  ]
  const tooLong = []
  for await (const file of glob('**/*.{ts,tsx,mts,mjs,cjs,css,sql}', { cwd: root, exclude })) {
    const lines = readFileSync(path.join(root, file), 'utf8').split('\n').length - 1
    if (lines > longestFile) tooLong.push(`${file}: ${lines} lines`)
  }
  return tooLong.join('\n')
}

/** Checks the length of functions in production code. Tests are exempt, because a `describe` is a list. */
async function functionLengths() {
  const folders = '{server/src,client/src,console/src,bench,scripts}/**/*.{ts,tsx,mjs}'
  const files = []
  for await (const file of glob(folders, {
    cwd: root,
    exclude: ['**/*.test.{ts,tsx}', ...generated],
  }))
    files.push(path.join(root, file))
  return tooLongFunctions(files).join('\n').replaceAll(`${root}`, '')
}

/** Checks the words of comments, test titles and documents. */
async function words() {
  const files = [
    '{server,client,console,bench,scripts}/**/*.{ts,tsx,mjs,md}',
    'docs/**/*.md',
    '*.md',
  ]
  const exclude = ['**/node_modules/**', '**/dist/**', 'scripts/check/words*', ...generated]
  const found = []
  for await (const file of glob(files, { cwd: root, exclude }))
    for (const { line, text, instead } of refusedWords(
      file,
      await readFile(path.join(root, file), 'utf8'),
    ))
      found.push(`${file}:${line}: "${text}". Write ${instead}.`)
  return found.join('\n')
}

async function consoleSizes() {
  const quietly = () => undefined
  const how = { node: process.execPath, env: process.env, started: () => quietly, say: quietly }
  const failure = await prepareConsole(root, how)
  if (failure) return failure
  const dist = path.join(root, 'console/dist')
  const sizes = new Map()
  for await (const file of glob('**/*', { cwd: dist, exclude: ['**/*.{br,gz}'] })) {
    if (path.extname(file) === '') continue
    sizes.set(file, gzipSync(await readFile(path.join(dist, file)), { level: 9 }).length)
  }
  const manifest = await readFile(path.join(dist, '.vite/manifest.json'), 'utf8')
  return tooLarge(JSON.parse(manifest), sizes).join('\n')
}

async function generatedFiles() {
  const fresh = await mkdtemp(path.join(tmpdir(), 'wardkeep-generated-'))
  try {
    const { code, output } = await node('scripts/generate.mjs', '--into', fresh)
    if (code !== 0) return output
    const stale = []
    for (const file of generated) {
      const [made, committed] = await Promise.all([text(fresh, file), text(root, file)])
      if (made !== committed) stale.push(file)
    }
    return stale.length > 0 ? `stale, run \`npm run generate\`: ${stale.join(', ')}` : ''
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

const text = (folder, file) => readFile(path.join(folder, file), 'utf8').catch(() => undefined)

const waiting = [...checks]
const failed = []

async function worker() {
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    const since = performance.now()
    const wrong = await check.run().catch((error) => error.stack)
    const seconds = ((performance.now() - since) / 1000).toFixed(1)
    console.log(`${wrong ? '✗' : '✓'} ${check.name} (${seconds} s)`)
    if (wrong) failed.push({ ...check, wrong })
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, worker))
for (const { name, wrong } of failed) console.log(`\n── ${name} ──\n${wrong.trim()}`)
console.log(
  failed.length === 0
    ? `\n${checks.length} checks passed`
    : `\n${failed.length} of ${checks.length} checks failed: ${failed.map(({ name }) => name).join(', ')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1
