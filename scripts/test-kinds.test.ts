/** The choice of the project that a test file runs in. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { kindOf, testFiles } from './test-kinds.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'wardkeep-kinds-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
})

function write(file: string, text: string): string {
  const module = path.join(root, file)
  mkdirSync(path.dirname(module), { recursive: true })
  writeFileSync(module, text)
  return module
}

it('sorting test files finds that a test uses a database, through any number of imported test modules', () => {
  write('server/test/support/database.ts', "import pg from 'pg'\n")
  write('server/test/users/scene.ts', "import { x } from '../support/database.ts'\n")
  const module = write('server/test/users/a.test.ts', "import {\n  y,\n} from './scene.ts'\n")
  expect(kindOf(module)).toBe('service')
})

it('sorting test files classifies a test that uses a database and starts a process as a process test', () => {
  write('server/test/support/database.ts', "import { spawn } from 'node:child_process'\n")
  const module = write(
    'server/test/a.test.ts',
    "import { d } from './support/database.ts'\nimport { c } from './support/process.ts'\n",
  )
  expect(kindOf(module)).toBe('process')
})

it('sorting test files ignores type imports and imports of the service itself', () => {
  write('server/src/users.ts', "import { spawn } from 'node:child_process'\n")
  const module = write(
    'server/src/users.test.ts',
    "import type { d } from '../test/support/database.ts'\nimport { u } from './users.ts'\n",
  )
  expect(kindOf(module)).toBe('unit')
})

it('sorting test files assigns each test file to exactly one project', () => {
  write('scripts/a.test.ts', "import { spawn } from 'node:child_process'\n")
  write('client/src/b.test.ts', '')
  expect(testFiles(root)).toEqual({
    unit: ['client/src/b.test.ts'],
    service: [],
    process: ['scripts/a.test.ts'],
  })
})
