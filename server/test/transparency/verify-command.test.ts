/** `wardkeep audit` as operators and auditors run it: a separate process, whose exit status is the result. */
import { createWriteStream } from 'node:fs'
import { readFile, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { finished as ended } from 'node:stream/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { runCommand, wardkeep } from '../docs/command.ts'
import { openService, type Service } from '../support/service.ts'
import { type LogScene, openLogScene } from './scene.ts'

let service: Service
let scene: LogScene
let file: string
let head: string
let key: string

beforeAll(async () => {
  service = await openService()
  scene = await openLogScene(service)
  await scene.grow(10)
  head = await scene.keepHead('head')
  file = path.join(scene.folder, 'log.jsonl')
  const exported = await onDatabase('export', '--out', file, '--tenant', String(scene.clinic.id))
  expect(exported, exported.stderr).toMatchObject({ code: 0 })
  expect(exported.stdout).toMatch(/^Exported \d+ entries of 1 audit logs to /)
  key = (await onDatabase('key')).stdout.trim()
  expect(key).toBe(await scene.key())
})

const onDatabase = (...args: string[]) => wardkeep(service.database, ['audit', ...args])
/** Runs the command without any variable: no database, no configuration. */
const verify = (...args: string[]) => runCommand(['audit', 'verify', ...args], {})

/** Expects a sentence on stderr, without a stack, and the status for a log that could not be checked. */
async function expectUnchecked(args: string[], sentence: RegExp | string): Promise<void> {
  const { code, stderr } = await verify(...args)
  expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
  expect(stderr).not.toMatch(/^\s+at /m)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
}

async function copyOf(name: string, edit: (text: string) => string): Promise<string> {
  const copy = path.join(scene.folder, name)
  await writeFile(copy, edit(await readFile(file, 'utf8')))
  return copy
}

describe('wardkeep audit verify', () => {
  test('exits with 0 for an intact export, without a database or configuration', async () => {
    const { code, stdout, stderr } = await verify(file, '--head', head, '--key', key)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('compared with 2 signed heads\nNo entry was altered.\n')
  })

  test('exits with 0 for the database beside the running service, and with JSON if requested', async () => {
    const { code, stdout } = await onDatabase('verify', '--head', head, '--key', key, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ findings: [], unchecked: [] })
  })

  test('exits with 1 and a line for each finding if entries were changed', async () => {
    const copy = await copyOf('changed.jsonl', (text) => text.replace('"N3"', '"X3"'))
    const { code, stdout } = await verify(copy, '--key', key)
    expect(code).toBe(1)
    expect(stdout).toMatch(
      new RegExp(`^tenant ${scene.clinic.id}: entry \\d+, index \\d+: changed \\(`),
    )
    expect(stdout).not.toContain('No entry was altered')
  })

  test('exits with 2 for exports that are cut or damaged', async () => {
    await expectUnchecked(
      [await copyOf('cut.jsonl', (text) => text.slice(0, text.length / 2))],
      /is cut/,
    )
    const lines = (text: string) => text.trimEnd().split('\n')
    const shorter = (text: string) => `${lines(text).slice(0, -1).join('\n')}\n`
    await expectUnchecked([await copyOf('shorter.jsonl', shorter)], 'The file was cut')
    await expectUnchecked([await copyOf('empty.jsonl', () => '')], 'The file is empty')
    await expectUnchecked([await copyOf('text.jsonl', () => 'no JSON\n')], 'not a JSON object')
    const crlf = (text: string) => text.replaceAll('\\n', '\\r\\n')
    await expectUnchecked([await copyOf('crlf.jsonl', crlf)], 'CRLF')
    const origin = (text: string) => text.replaceAll('wardkeep.test/audit', 'other.test/audit')
    await expectUnchecked(
      [await copyOf('origin.jsonl', origin), '--key', key],
      'is not signed with',
    )
    await expectUnchecked([await copyOf('origin.jsonl', origin)], 'Not a verifier key')
    await expectUnchecked([path.join(scene.folder, 'none.jsonl')], 'does not exist')
  })

  test('exits with 2 for a line of 10 GB, without reading it into memory', async () => {
    const long = path.join(scene.folder, 'long.jsonl')
    await ended(createWriteStream(long).end('{"x":"'))
    // A sparse file: the rest of the line are zero bytes that take no disk.
    await truncate(long, 10 * 1024 ** 3)
    await expectUnchecked([long], 'is longer than')
  })

  test('exits with 2 for malformed heads and keys, and unknown options', async () => {
    const note = await readFile(head, 'utf8')
    const bad = async (name: string, text: string, sentence: string) => {
      const target = path.join(scene.folder, name)
      await writeFile(target, text)
      await expectUnchecked([file, '--head', target], sentence)
    }
    await bad('cut', note.slice(0, -4), 'malformed or cut')
    await bad('crlf', note.replaceAll('\n', '\r\n'), 'CRLF')
    await bad('two', note + note, 'more than one head')
    await bad('other', note.replace(/^.*\n/, 'other.test/audit/7/1\n'), 'head of another log')
    await bad('long', note + '\u2014 x AAAA\n'.repeat(3_000), 'too long')
    await expectUnchecked([file, '--key', key.slice(0, -3)], 'Not a verifier key')
    const { code } = await verify(file, '--heads', head)
    expect(code).toBe(2)
  })
})

describe('wardkeep audit export', () => {
  test('exits with 2 if the target exists, the log does not, or a date is malformed', async () => {
    for (const [args, sentence] of [
      [['--out', file], 'already exists'],
      [['--out', `${file}-2.jsonl`, '--tenant', '999999'], 'No such audit log'],
      [['--out', `${file}-2.jsonl`, '--from', 'yesterday'], 'not a date'],
      [['--out', `${file}-folder`, '--from', '2026-01-01'], 'A folder contains whole logs'],
    ] as const) {
      const { code, stderr } = await onDatabase('export', ...args)
      expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)])
    }
  })
})
