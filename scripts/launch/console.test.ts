import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { consoleStamp, isConsoleBuilt, prepareConsole, stampFile } from './console.mjs'

const launchModule = path.join(import.meta.dirname, 'console.mjs')

/** A replacement for the build that writes the stamp and counts the builds. */
const BUILD = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { consoleStamp } from ${JSON.stringify(launchModule)}
appendFileSync('builds', 'x')
const stamp = consoleStamp('.')
mkdirSync('console/dist', { recursive: true })
writeFileSync('console/dist/${stampFile}', stamp)
`

let root: string
let said: string[]

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'wardkeep-console-'))
  onTestFinished(() => rm(root, { recursive: true }))
  said = []
  await write('console/src/pages/users.tsx', 'users')
  await write('console/index.html', '<!doctype html>')
  await write('package-lock.json', '{}')
  await write('scripts/build-console.mjs', BUILD)
})

async function write(file: string, text: string): Promise<void> {
  await mkdir(path.join(root, file, '..'), { recursive: true })
  await writeFile(path.join(root, file), text)
}

function prepare() {
  const say = (line: string) => void said.push(line)
  const started = (line: string) => {
    say(line)
    return () => say('done')
  }
  return prepareConsole(root, { node: process.execPath, env: process.env, started, say })
}

const countBuilds = async () => (await readFile(path.join(root, 'builds'), 'utf8')).length

describe('the launcher', () => {
  it('builds the console if it is missing, and reuses it while its sources stay the same', async () => {
    expect(isConsoleBuilt(root)).toBe(false)
    expect(await prepare()).toBeUndefined()
    expect(await prepare()).toBeUndefined()
    expect(await countBuilds()).toBe(1)
    expect(said).toEqual(['Building the console …', 'done'])
  })

  it.each([
    'console/src/pages/users.tsx',
    'console/src/pages/audit.tsx',
    'console/public/theme.js',
    'console/index.html',
    'console/vite.config.ts',
    'console/package.json',
    'package-lock.json',
  ])('builds the console again if %s changes', async (file) => {
    await prepare()
    await write(file, 'changed')
    expect(isConsoleBuilt(root)).toBe(false)
  })

  it('does not build the console again for other changes', async () => {
    const stamp = consoleStamp(root)
    await write('server/src/app.ts', 'changed')
    await write('console/dist/index.html', 'changed')
    expect(consoleStamp(root)).toBe(stamp)
  })

  it('computes another stamp if a source file of the console is renamed', async () => {
    const stamp = consoleStamp(root)
    await rm(path.join(root, 'console/src/pages/users.tsx'))
    await write('console/src/pages/people.tsx', 'users')
    expect(consoleStamp(root)).not.toBe(stamp)
  })

  it('builds the console once if several launchers run at the same time', async () => {
    expect(await Promise.all([prepare(), prepare(), prepare()])).toEqual(Array(3).fill(undefined))
    expect(await countBuilds()).toBe(1)
  })
})

describe('a failed build of the console', () => {
  it('reports the reason without a stack trace, and leaves no outdated console', async () => {
    await prepare()
    await write('scripts/build-console.mjs', 'throw new Error("unexpected token in users.tsx")')
    const reason = await prepare()
    expect(reason).toContain('unexpected token in users.tsx')
    expect(reason).not.toMatch(/^\s+at /m)
    expect(reason?.split('\n').length).toBeLessThanOrEqual(8)
    expect(existsSync(path.join(root, 'console/dist'))).toBe(false)
    expect(said).not.toContain('Waiting for another launcher that is setting up …')
  })

  it('is repeated at the next start', async () => {
    await write('scripts/build-console.mjs', 'process.exit(3)')
    expect(await prepare()).toBe('The build ended with 3.')
    await write('scripts/build-console.mjs', BUILD)
    expect(await prepare()).toBeUndefined()
    expect(isConsoleBuilt(root)).toBe(true)
  })
})
