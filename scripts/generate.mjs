/**
 * Writes the files that are generated and committed: the contract, the schema, the checksums of
 * migrations, the client's types.
 * `--into DIR` writes them below another folder, to see whether the committed ones are stale.
 */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { frozenChecksums } from './generate/checksums.ts'
import { describe } from './generate/describe.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { into } = parseArgs({ options: { into: { type: 'string', default: root } } }).values

async function node(script, args, input = '') {
  const running = promisify(execFile)(process.execPath, [path.join(root, script), ...args], {
    cwd: root,
    maxBuffer: 64 * 2 ** 20,
  })
  running.child.stdin.end(input)
  return (await running).stdout
}

async function write(name, text) {
  const file = path.resolve(into, name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, text)
  return file
}

async function writeContract(contract) {
  const shown = ['--indent-style=space', '--indent-width=1', '--line-width=120']
  const biome = ['format', ...shown, '--stdin-file-path=contract.json']
  const text = await node('node_modules/@biomejs/biome/bin/biome', biome, JSON.stringify(contract))
  const file = await write('server/openapi.json', text)
  // `required` says what must be there: a default only says that it need not be sent.
  const ignoreDefaults = '--default-non-nullable=false'
  const types = await node('node_modules/openapi-typescript/bin/cli.js', [file, ignoreDefaults])
  await write('client/src/generated/api.ts', types)
}

try {
  const { contract, schema } = await describe()
  await write('server/schema.sql', schema)
  await write('server/migrations/checksums.txt', await frozenChecksums())
  await writeContract(contract)
} catch (error) {
  console.error(error.stderr || error.stack)
  process.exit(1)
}
