/** A feature is its folder, and what CONTRIBUTING.md says that it touches beside. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { named, ROOT, tableOf } from '../docs/documents.ts'

const FEATURES = 'server/src/features'
/**
 * The nouns of who calls and on whose behalf, of the service itself, and of its keys, which are
 * key-encryption keys: platform speaks of them too.
 */
const BASE = ['audit', 'auth', 'encryption', 'health', 'setup', 'tenants', 'users']
const MAX_TOUCHED = 6
/** Files in which the word of a feature is one of another vocabulary: `webhooks` is a member of OpenAPI documents. */
const OWN_WORDS: Readonly<Record<string, string[]>> = {
  webhooks: ['server/src/platform/http/openapi/document.ts'],
}
/** The parts of the registry of actions, which the table names as one file. */
const PART_OF_REGISTRY = /^server\/src\/platform\/journal\/action-\w+[.]ts$/
/** Where a feature's variables and commands stand: beside those of the service. */
const AT_THE_EDGE = /^server\/src\/(?:main[.]ts|commands\/.*|config\/[\w-]+-variables[.]ts)$/

const touched = tableOf('CONTRIBUTING.md', 'File').map(([file]) => named(file))
/** Those with a door: what has none yet is not part of the service. */
const folders = (await Array.fromAsync(glob('*/index.ts', { cwd: path.join(ROOT, FEATURES) })))
  .map((door) => path.dirname(door))
  .sort()
/** The code outside the features, by file. */
const outside = new Map<string, string>()

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

/** What runs: no comments, no sentences, and no names of variables of the environment. */
function codeOf(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
    .replaceAll(/'[^'\n]* [^'\n]*'|"[^"\n]* [^"\n]*"|`[^`]* [^`]*`/g, '')
    .replaceAll(/\bconfig\.[A-Z][A-Z_]*/g, '')
}

/** Whether the code has the feature's word, in whatever name: `webhookPool` of `webhooks`. */
const speaksOf = (code: string, feature: string) =>
  code.toLowerCase().includes(feature.replace(/s$/, '').replace('-', ''))

beforeAll(async () => {
  const files = glob(['server/src/**/*.ts', '.dependency-cruiser.cjs'], { cwd: ROOT })
  for await (const file of files)
    if (
      !file.startsWith(FEATURES) &&
      !file.endsWith('.test.ts') &&
      ![AT_THE_EDGE, PART_OF_REGISTRY].some((pattern) => pattern.test(file))
    )
      outside.set(file, codeOf(read(file)))
})

const whoSpeaksOf = (feature: string) =>
  [...outside].filter(([, code]) => speaksOf(code, feature)).map(([file]) => file)

describe('the table of what a new feature touches', () => {
  test('has few files, and they are there', () => {
    expect(touched.length).toBeLessThanOrEqual(MAX_TOUCHED)
    for (const file of touched) expect([...outside.keys()]).toContain(file)
  })

  test('has none that no feature touches', () => {
    const spoken = new Set(folders.flatMap(whoSpeaksOf))
    expect(touched.filter((file) => !spoken.has(file))).toEqual([])
  })
})

describe.each(folders.filter((name) => !BASE.includes(name)))('%s', (feature) => {
  test('is spoken of outside its folder by the files of the table alone', () => {
    const known = [...touched, ...(OWN_WORDS[feature] ?? [])]
    expect(whoSpeaksOf(feature).filter((file) => !known.includes(file))).toEqual([])
  })
})

describe.each(folders)('the door of %s', (feature) => {
  const opened = /\bopen[A-Z]\w*/g

  test('is known to app.ts alone, outside the features', () => {
    const door = `features/${feature}/`
    const knowing = [...outside].filter(([, code]) => code.includes(door)).map(([file]) => file)
    expect(knowing.filter((file) => file !== 'server/src/app.ts')).toEqual([])
  })

  test('has at most one function that opens it, which app.ts calls once', () => {
    const openers = read(`${FEATURES}/${feature}/index.ts`).match(opened) ?? []
    expect(openers).toHaveLength(1)
    const calls = outside.get('server/src/app.ts')?.split(`${openers[0]}(`) ?? []
    expect(calls).toHaveLength(2)
  })
})

test('a word of a feature is found in a name, and not in what is said or configured', () => {
  expect(speaksOf(codeOf('const webhookPool = 4'), 'webhooks')).toBe(true)
  expect(speaksOf(codeOf("'users__patient'"), 'patients')).toBe(true)
  expect(speaksOf(codeOf('/** Of webhooks. */ x // webhooks'), 'webhooks')).toBe(false)
  expect(
    speaksOf(codeOf("'accounts and webhooks' + config.WEBHOOK_RETENTION_DAYS"), 'webhooks'),
  ).toBe(false)
})
