/** What the documents and the container files name exists: variables, commands, npm scripts. */
import { beforeAll, describe, expect, test } from 'vitest'
import { VARIABLES } from '../../src/config/config.ts'
import { documents, textOf } from './documents.ts'

/** Names of this shape that are no variables of the service, with whose they are. */
const FOREIGN: Record<string, string> = {
  DATABASE_PASSWORD: 'compose.yaml',
  POSTGRES_PASSWORD: 'compose.yaml, the image of PostgreSQL',
  TEST_DATABASE_URL: 'the tests',
  AF_UNIX: 'systemd',
  AF_INET: 'systemd',
  AF_INET6: 'systemd',
}

const CONTAINERS = ['Dockerfile', 'compose.yaml']

let files: string[]
let everything: string

beforeAll(async () => {
  // The comparisons in bench have variables of their own; its README speaks for itself.
  const documented = (await documents()).filter((file) => !file.startsWith('bench/'))
  files = [...documented, ...CONTAINERS]
  everything = files.map(textOf).join('\n')
})

/** The variables that a container file sets for the service. */
function setIn(file: string): string[] {
  const text = textOf(file)
  if (file === 'Dockerfile')
    return [...text.matchAll(/^ENV (.+)$/gm)].flatMap(([, line = '']) =>
      [...line.matchAll(/([A-Z_]+)=/g)].map(([, name = '']) => name),
    )
  const [, block = ''] =
    /^ {2}wardkeep:\n.*?^ {4}environment:\n((?: {6}[^\n]*\n)+)/ms.exec(text) ?? []
  return [...block.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name = '']) => name)
}

describe('variables', () => {
  test.each(CONTAINERS)('that %s sets are known to the service', (file) => {
    const names = setIn(file)
    expect(names.length).toBeGreaterThan(2)
    expect(names.filter((name) => !(name in VARIABLES))).toEqual([])
  })

  test('that a document names are known to the service, or to somebody else', () => {
    const unknown = files.flatMap((file) =>
      [...textOf(file).matchAll(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g)]
        .map(([name]) => name)
        .filter((name) => !(name in VARIABLES) && !(name in FOREIGN))
        .map((name) => `${file}: ${name}`),
    )
    expect(unknown).toEqual([])
  })

  test('of somebody else are really named', () => {
    expect(Object.keys(FOREIGN).filter((name) => !everything.includes(name))).toEqual([])
  })

  test('give the container what production asks for', () => {
    expect(setIn('Dockerfile')).toContain('NODE_ENV')
    expect(setIn('compose.yaml')).toEqual(
      expect.arrayContaining(['DATABASE_URL', 'ENCRYPTION_KEY_FILE']),
    )
    // The commands at the top write the rest into the file that the service reads its variables from.
    expect(textOf('compose.yaml')).toMatch(/^# +printf 'PUBLIC_URL=.+' > wardkeep\.env$/m)
    expect(textOf('compose.yaml')).toContain('env_file: [wardkeep.env]')
  })
})

describe('commands', () => {
  const declared = () =>
    textOf('server/src/main.ts')
      .split(/program(?=[.]|\n)/)
      .filter((part) => !part.includes('hidden: true'))
      .flatMap((part) => /^\s*\.command\('([a-z-]+)/.exec(part)?.[1] ?? [])

  test('of wardkeep that a document names exist, and each is named', () => {
    const named = [...everything.matchAll(/(?:`|^ *|\S=\S+ )wardkeep ([a-z]+(?:-[a-z]+)*)/gm)]
    expect([...new Set(named.map(([, name]) => name))].sort()).toEqual(declared().sort())
  })

  test('of npm that a document names exist, and each is named', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: object }
    const named = [...everything.matchAll(/`(?:[A-Z_]+=\S* )?npm (?:run )?([a-z]+)/g)].map(
      ([, name]) => name,
    )
    expect([...new Set(named)].sort()).toEqual(Object.keys(scripts).sort())
  })
})
