/** Variables, commands and npm scripts named in the documents and container files exist. */
import { beforeAll, describe, expect, test } from 'vitest'
import { openProgram } from '../../src/commands/program.ts'
import { VARIABLES } from '../../src/config/config.ts'
import { documents, textOf } from './documents.ts'

/** Uppercase names that are not variables of the service, each with its owner. */
const FOREIGN: Record<string, string> = {
  DATABASE_PASSWORD: 'compose.yaml',
  POSTGRES_PASSWORD: 'compose.yaml, the image of PostgreSQL',
  TEST_DATABASE_URL: 'the tests',
  NODE_EXTRA_CA_CERTS: 'Node.js',
  AF_UNIX: 'systemd',
  AF_INET: 'systemd',
  AF_INET6: 'systemd',
}

const CONTAINERS = ['Dockerfile', 'compose.yaml']

let files: string[]
let everything: string

beforeAll(async () => {
  // Ignores the comparisons in bench, whose variables only their README documents.
  const documented = (await documents()).filter((file) => !file.startsWith('bench/'))
  files = [...documented, ...CONTAINERS]
  everything = files.map(textOf).join('\n')
})

/** Returns the variables that a container file sets for the service. */
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

describe('a variable', () => {
  test.each(CONTAINERS)('that the example %s sets is known to the service', (file) => {
    const names = setIn(file)
    expect(names.length).toBeGreaterThan(2)
    expect(names.filter((name) => !(name in VARIABLES))).toEqual([])
  })

  test('that a document names belongs to the service or to a listed other program', () => {
    const unknown = files.flatMap((file) =>
      [...textOf(file).matchAll(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g)]
        .map(([name]) => name)
        .filter((name) => !(name in VARIABLES) && !(name in FOREIGN))
        .map((name) => `${file}: ${name}`),
    )
    expect(unknown).toEqual([])
  })

  test('of another program is listed only if a document names the variable', () => {
    expect(Object.keys(FOREIGN).filter((name) => !everything.includes(name))).toEqual([])
  })

  test('that production requires is set in the container example', () => {
    expect(setIn('Dockerfile')).toContain('NODE_ENV')
    expect(setIn('compose.yaml')).toEqual(
      expect.arrayContaining(['DATABASE_URL', 'ENCRYPTION_KEY_FILE']),
    )
    // The commands at the top of compose.yaml write the other variables into the service's environment file.
    expect(textOf('compose.yaml')).toMatch(/^# +printf 'PUBLIC_URL=.+' > wardkeep\.env$/m)
    expect(textOf('compose.yaml')).toContain('env_file: [wardkeep.env]')
  })
})

describe('a command', () => {
  const declared = () => openProgram().commands.map((command) => command.name())

  test('of wardkeep exists if a document names it, and each existing one is documented', () => {
    const named = [...everything.matchAll(/(?:`|^ *|\S=\S+ )wardkeep ([a-z]+(?:-[a-z]+)*)/gm)]
    expect([...new Set(named.map(([, name]) => name))].sort()).toEqual(declared().sort())
  })

  test('of npm exists if a document names it, and each existing one is documented', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: object }
    const named = [...everything.matchAll(/`(?:[A-Z_]+=\S* )?npm (?:run )?([a-z:]+)/g)].map(
      ([, name]) => name,
    )
    expect([...new Set(named)].sort()).toEqual(Object.keys(scripts).sort())
  })
})
