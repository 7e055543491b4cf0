/**
 * Writes the files that are generated and committed: the contract, the schema, the checksums of migrations, the
 * client's types, and the tables of variables, commands and metrics. `--into DIR` writes them to another folder, to
 * detect stale committed files.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { frozenChecksums } from './generate/checksums.ts'
import { commandTable } from './generate/commands.ts'
import { variableTables } from './generate/configuration.ts'
import { describe } from './generate/describe.ts'
import { withSection } from './generate/sections.ts'

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
  // A field is `required` if it must be present. A field with a default may be absent.
  const ignoreDefaults = '--default-non-nullable=false'
  const types = await node('node_modules/openapi-typescript/bin/cli.js', [file, ignoreDefaults])
  await write('client/src/generated/api.ts', types)
}

async function writeReference(page, name, section) {
  const file = `docs/reference/${page}.md`
  const document = await readFile(path.join(root, file), 'utf8')
  await write(file, withSection(document, name, section))
}

try {
  const { contract, schema, metrics } = await describe()
  await write('server/schema.sql', schema)
  await write('server/migrations/checksums.txt', await frozenChecksums())
  await writeContract(contract)
  await writeReference('configuration', 'variables', variableTables())
  await writeReference('command-line', 'commands', commandTable())
  await writeReference('metrics', 'metrics', metrics)
} catch (error) {
  console.error(error.stderr || error.stack)
  process.exit(1)
}
