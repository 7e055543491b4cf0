import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Violation = { from: string; rule: { name: string } }
type Report = { modules: unknown[]; summary: { violations: Violation[] } }

const require = createRequire(import.meta.url)
const root = path.resolve(import.meta.dirname, '../../..')
const rules: { forbidden: { name: string }[] } = require(`${root}/.dependency-cruiser.cjs`)

/** If the tool reports fewer modules, it did not read the whole tree, even if it reports success. */
const FEWEST_MODULES = 40

const store = 'features/users/users.store.ts'

/** One violation for each rule, as [file that breaks the rule, imported file]. The paths start in server/src. */
const planted: Record<string, [file: string, imports: string]> = {
  'lib-is-the-bottom': ['lib/upwards.ts', '../platform/net/net.ts'],
  'lib-does-no-io': ['lib/reading.ts', 'node:fs/promises'],
  'platform-knows-no-feature': ['platform/net/curious.ts', '../../features/audit/index.ts'],
  'only-the-list-knows-features': ['config/config.ts', '../features/audit/index.ts'],
  'nobody-imports-the-root': ['platform/net/rooted.ts', '../../app.ts'],
  'the-core-stands-on-platform': ['platform/net/cored.ts', '../../core.ts'],
  'no-test-in-source': ['platform/net/tested.ts', '../../../test/support/help.ts'],
  'routes-go-through-the-service': ['features/users/users.routes.ts', './users.store.ts'],
  'services-look-down': ['features/users/users.service.ts', './other.routes.ts'],
  'stores-call-nobody': [store, './other.service.ts'],
  'services-know-no-http': ['features/users/http.service.ts', 'fastify'],
  'features-meet-at-the-door': ['features/users/forward.ts', '../audit/audit.store.ts'],
  'every-feature-has-a-rank': ['features/novelty/novelty.ts', '../audit/index.ts'],
  'rank-0-looks-down': ['features/audit/upwards.ts', '../tenants/index.ts'],
  'rank-1-looks-down': ['features/tenants/upwards.ts', '../departments/index.ts'],
  'rank-2-looks-down': ['features/departments/upwards.ts', '../users/index.ts'],
  'rank-3-looks-down': ['features/users/upwards.ts', '../auth/index.ts'],
  'rank-4-looks-down': ['features/auth/sideways.ts', '../patients/index.ts'],
  'only-stores-run-sql': ['features/users/users.jobs.ts', 'kysely'],
  'tables-hold-only-types': ['features/users/users.table.ts', 'kysely'],
  'only-net-dials-out': ['features/users/calling.ts', 'undici'],
  'no-cycles': ['lib/circle.ts', './circle.ts'],
  'no-unresolved-import': ['lib/lost.ts', './nowhere.ts'],
  'console-imports-only-the-client': ['../../console/src/main.ts', '../../server/src/core.ts'],
  'packages-meet-in-files': ['../../client/src/client.ts', '../../server/src/app.ts'],
}

/** A type-only import breaks the rule as well, because it is still a dependency. */
const typed = ['features/users/users.schema.ts', `import type { Kysely } from 'kysely'`] as const

/** These rules cannot be broken: the highest rank has no rank above it to import, and it has only one member. */
const unbreakable = ['rank-5-looks-down']

/** Files that the violations import, and allowed imports that resemble violations. */
const innocent: Record<string, string> = {
  'app.ts': `import './open-features.ts'`,
  'open-features.ts': `import './features/audit/index.ts'`,
  'core.ts': '',
  'platform/net/net.ts': `import 'node:fs'\nimport 'undici'\nimport 'node:https'`,
  'platform/observe/metrics.ts': `import 'node:http'`,
  'platform/db/pool.ts': `import 'kysely'`,
  '../test/support/help.ts': '',
  'features/audit/index.ts': `import './audit.store.ts'`,
  'features/audit/audit.store.ts': `import 'kysely'`,
  'features/tenants/index.ts': `import '../audit/index.ts'`,
  'features/departments/index.ts': `import '../tenants/index.ts'`,
  'features/users/index.ts': `import './sessions/sessions.ts'`,
  'features/users/sessions/sessions.ts': `import '../other.routes.ts'`,
  'features/users/other.routes.ts': `import 'fastify'`,
  'features/users/other.service.ts': '',
  'features/users/other.table.ts': `import type { Generated } from 'kysely'\nexport type Row = Generated<1>`,
  'features/users/users.test.ts': `import '../audit/audit.store.ts'\nimport '../../app.ts'\nimport 'kysely'`,
  'features/auth/index.ts': `import '../users/index.ts'`,
  'features/patients/index.ts': '',
  'features/health/index.ts': `import '../auth/index.ts'`,
}

async function cruise(cwd: string, ...folders: string[]): Promise<Report> {
  const tool = path.join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs')
  const config = path.join(cwd, '.dependency-cruiser.cjs')
  const run = promisify(execFile)(
    process.execPath,
    [tool, '--config', config, '--output-type', 'json', ...folders],
    { cwd, maxBuffer: 64 * 2 ** 20 },
  )
  // The report is on stdout even if the exit code reports violations.
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  return JSON.parse(stdout)
}

async function plant(tree: string) {
  const write = async (file: string, text: string) => {
    const target = path.join(tree, 'server/src', file)
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, `${text}\nexport {}\n`)
  }
  for (const file of ['.dependency-cruiser.cjs', 'tsconfig.json'])
    await cp(path.join(root, file), path.join(tree, file))
  for (const name of ['kysely', 'fastify', 'undici']) {
    await write(`../../node_modules/${name}/index.js`, '')
    const manifest = JSON.stringify({ name, version: '1.0.0', type: 'module', main: 'index.js' })
    await writeFile(path.join(tree, 'node_modules', name, 'package.json'), manifest)
  }
  for (const [file, text] of Object.entries(innocent)) await write(file, text)
  await write(...typed)
  for (const [file, imports] of Object.values(planted)) await write(file, `import '${imports}'`)
}

describe('the dependency rules', () => {
  let tree: string
  let reported: string[]

  beforeAll(async () => {
    tree = await mkdtemp(path.join(tmpdir(), 'wardkeep-rules-'))
    await plant(tree)
    const report = await cruise(tree, 'server', 'client', 'console')
    reported = report.summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`)
  })

  afterAll(() => rm(tree, { recursive: true, force: true }))

  it.each(Object.entries(planted))(
    'detect the planted violation of the rule %s',
    (name, [file]) => {
      expect(reported).toContain(`${name}: ${path.posix.join('server/src', file)}`)
    },
  )

  it('apply to type imports', () => {
    expect(reported).toContain(`only-stores-run-sql: server/src/${typed[0]}`)
  })

  it('report nothing in files that follow them', () => {
    const guilty = [...Object.values(planted), typed].map(([file]) =>
      path.posix.join('server/src', file),
    )
    expect(reported.filter((line) => !guilty.includes(line.split(': ')[1] ?? ''))).toEqual([])
  })

  it('each have a planted violation', () => {
    const names = rules.forbidden.map(({ name }) => name)
    expect(names.sort()).toEqual([...Object.keys(planted), ...unbreakable].sort())
  })

  it('hold in the real source tree, which was read completely', async () => {
    const { modules, summary } = await cruise(root, 'server', 'client', 'console', 'bench')
    expect(summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`)).toEqual([])
    expect(modules.length).toBeGreaterThanOrEqual(FEWEST_MODULES)
  })
})
