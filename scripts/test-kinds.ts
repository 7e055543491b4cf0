/** Sorts the test files into the projects of the test run, based on their imports. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/**
 * The needs of a test file: no resources (`unit`), a database (`service`), or separate processes (`process`), such as
 * commands, embedded servers and browsers.
 */
export type TestKind = 'unit' | 'service' | 'process'

const TESTS = '{server,client,console,bench,scripts}/**/*.test.{ts,tsx}'

/** Modules that start or end processes. */
const STARTS_PROCESSES =
  /node:child_process|\/support\/(?:browser|embedded|process)\.ts$|\/platform\/embedded\/index\.ts$/
/** Modules that open a database of the run. */
const OPENS_DATABASES = /\/support\/(?:database|server-address)\.ts$/

/** Service tests that must run in the `process` project, each with the reason. */
const ALONE: Readonly<Record<string, string>> = {
  'server/src/platform/crypto/passwords.test.ts':
    'It spies on argon2 by vi.mock, which does not reach modules that another file has loaded.',
}

/** Returns the files of each kind, relative to the root. */
export function testFiles(root: string): Record<TestKind, string[]> {
  const files: Record<TestKind, string[]> = { unit: [], service: [], process: [] }
  const kinds = new Map<string, TestKind>()
  for (const file of globSync(TESTS, { cwd: root, exclude: ['**/node_modules/**'] }).sort())
    files[file in ALONE ? 'process' : kindOf(path.join(root, file), kinds)].push(file)
  return files
}

/** Returns the kind of a module: the most demanding kind among its imports, followed through test modules. */
export function kindOf(module: string, known: Map<string, TestKind> = new Map()): TestKind {
  const found = known.get(module)
  if (found) return found
  known.set(module, 'unit')
  let kind: TestKind = 'unit'
  for (const specifier of importsOf(readFileSync(module, 'utf8'))) {
    const needed = kindOfImport(module, specifier, known)
    if (needed === 'process' || kind === 'unit') kind = needed
  }
  known.set(module, kind)
  return kind
}

function kindOfImport(from: string, specifier: string, known: Map<string, TestKind>): TestKind {
  if (!specifier.startsWith('.')) return STARTS_PROCESSES.test(specifier) ? 'process' : 'unit'
  const module = path.resolve(path.dirname(from), specifier)
  if (STARTS_PROCESSES.test(module)) return 'process'
  if (OPENS_DATABASES.test(module)) return 'service'
  return isOfTests(module) ? kindOf(module, known) : 'unit'
}

/** Returns true for test modules. The service's own modules do not determine the kind of a test that imports them. */
const isOfTests = (module: string): boolean =>
  existsSync(module) && /\/(?:test|scripts)\/.*\.m?[jt]s$|\.test\.ts$/.test(module)

/** Returns the specifiers of imports of values. Type imports are ignored, because they do not exist at run time. */
function importsOf(text: string): string[] {
  const imports = text.matchAll(/^(?:import|export) (?!type )[^'"]*?['"]([^'"]+)['"]/gm)
  const dynamic = text.matchAll(/\bimport\(['"]([^'"]+)['"]\)/g)
  return [...imports, ...dynamic].map(([, specifier = '']) => specifier)
}
