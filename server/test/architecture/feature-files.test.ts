/** A feature consists of its folder and of the other files that CONTRIBUTING.md lists. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { named, ROOT, tableOf } from '../docs/documents.ts'

const FEATURES = 'server/src/features'
/**
 * Features whose names are also basic terms of the platform, such as callers, tenants and keys. `encryption` also
 * occurs in the names of key-encryption keys, and `stat` in `state` and `status`. The platform code may use these words.
 */
const BASE = ['audit', 'auth', 'encryption', 'health', 'setup', 'stats', 'tenants', 'users']
const MAX_TOUCHED = 8
/** Words that have another meaning in some files. For example, `webhooks` is a member of OpenAPI documents. */
const OWN_WORDS: Readonly<Record<string, string[]>> = {
  webhooks: ['server/src/platform/http/openapi/document.ts'],
}
/** The files of the action registry, which the table lists as one file. */
const PART_OF_REGISTRY = /^server\/src\/platform\/journal\/action-\w+[.]ts$/

const touched = tableOf('CONTRIBUTING.md', 'File').map(([file]) => named(file))

/**
 * Returns whether a row of the table covers the file. A row names a path or a folder, and `…` in it matches any
 * subject.
 */
function covers(row: string, file: string): boolean {
  const [before = '', after] = row.split('…')
  if (after === undefined) return row.endsWith('/') ? file.startsWith(row) : file === row
  const subject = file.slice(before.length, -after.length)
  return file === before + subject + after && /^[a-z-]+$/.test(subject)
}
/** Features with an index.ts. The others are not part of the service yet. */
const folders = (await Array.fromAsync(glob('*/index.ts', { cwd: path.join(ROOT, FEATURES) })))
  .map((door) => path.dirname(door))
  .sort()
/** The code outside the features, by file. */
const outside = new Map<string, string>()

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

/** Returns the executable code: no comments, no sentences and no names of environment variables. */
function codeOf(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
    .replaceAll(/'[^'\n]* [^'\n]*'|"[^"\n]* [^"\n]*"|`[^`]* [^`]*`/g, '')
    .replaceAll(/\bconfig\.[A-Z][A-Z_]*/g, '')
}

/** Returns whether the code contains the feature's word in any name, such as `webhookPool` for `webhooks`. */
const speaksOf = (code: string, feature: string) =>
  code.toLowerCase().includes(feature.replace(/s$/, '').replace('-', ''))

beforeAll(async () => {
  const files = glob(['server/src/**/*.ts', '.dependency-cruiser.cjs'], { cwd: ROOT })
  for await (const file of files)
    if (!file.startsWith(FEATURES) && !file.endsWith('.test.ts') && !PART_OF_REGISTRY.test(file))
      outside.set(file, codeOf(read(file)))
})

const whoSpeaksOf = (feature: string) =>
  [...outside].filter(([, code]) => speaksOf(code, feature)).map(([file]) => file)

describe('the documented table of files that a new feature touches', () => {
  test('lists few files, all of which exist', () => {
    expect(touched.length).toBeLessThanOrEqual(MAX_TOUCHED)
    const files = [...outside.keys()]
    expect(touched.filter((row) => !files.some((file) => covers(row, file)))).toEqual([])
  })

  test('lists no file that no feature touches', () => {
    const spoken = folders.flatMap(whoSpeaksOf)
    expect(touched.filter((row) => !spoken.some((file) => covers(row, file)))).toEqual([])
  })
})

describe.each(folders.filter((name) => !BASE.includes(name)))(
  'the table for the feature %s',
  (feature) => {
    test("lists all files outside a feature's folder that name the feature", () => {
      const known = [...touched, ...(OWN_WORDS[feature] ?? [])]
      const isKnown = (file: string) => known.some((row) => covers(row, file))
      expect(whoSpeaksOf(feature).filter((file) => !isKnown(file))).toEqual([])
    })
  },
)

/** Returns the code without the second door of the audit log, whose verification must not load all features. */
const withoutOffline = (code: string) => code.replaceAll('features/audit/offline/index.ts', '')

describe.each(folders)('the index.ts of the feature %s', (feature) => {
  const opened = /\bopen[A-Z]\w*/g

  test('outside the features, is imported only by open-features.ts', () => {
    const door = `features/${feature}/`
    const knowing = [...outside]
      .filter(([, code]) => withoutOffline(code).includes(door))
      .map(([file]) => file)
    expect(knowing.filter((file) => file !== 'server/src/open-features.ts')).toEqual([])
  })

  test('exports one function that opens the feature, which open-features.ts calls once', () => {
    const openers = read(`${FEATURES}/${feature}/index.ts`).match(opened) ?? []
    expect(openers).toHaveLength(1)
    const calls = outside.get('server/src/open-features.ts')?.split(`${openers[0]}(`) ?? []
    expect(calls).toHaveLength(2)
  })
})

test('the check of feature files finds the word of a feature in a name, but not in a comment, text or variable', () => {
  expect(speaksOf(codeOf('const webhookPool = 4'), 'webhooks')).toBe(true)
  expect(speaksOf(codeOf("'users__patient'"), 'patients')).toBe(true)
  expect(speaksOf(codeOf('/** Sends webhooks. */ x // webhooks'), 'webhooks')).toBe(false)
  expect(
    speaksOf(codeOf("'accounts and webhooks' + config.WEBHOOK_RETENTION_DAYS"), 'webhooks'),
  ).toBe(false)
})

test('a row of the table covers only the files of its folder and of its subjects', () => {
  const variables = 'server/src/config/…-variables.ts'
  expect(covers(variables, 'server/src/config/self-healing-variables.ts')).toBe(true)
  expect(covers(variables, 'server/src/config/config.ts')).toBe(false)
  expect(covers(variables, 'server/src/config/parts/mail-variables.ts')).toBe(false)
  expect(covers('server/src/commands/', 'server/src/commands/backup.ts')).toBe(true)
  expect(covers('server/src/app.ts', 'server/src/app.ts.ts')).toBe(false)
})
