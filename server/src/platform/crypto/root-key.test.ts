/** Tests which formats of root keys and which key files are accepted. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { StartupError } from '../../lib/startup-error.ts'
import { parseKey, readKeyFile } from './root-key.ts'

const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7 + 100))
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wardkeep-root-key-'))
  onTestFinished(() => rm(folder, { recursive: true }))
})

describe('reading a root key', () => {
  test.each([
    ['hex', KEY.toString('hex')],
    ['hex in upper case', KEY.toString('hex').toUpperCase()],
    ['base64', KEY.toString('base64')],
    ['base64 without padding', KEY.toString('base64').replace('=', '')],
    ['base64url', KEY.toString('base64url')],
    ['base64 with a line break', `${KEY.toString('base64')}\n`],
    ['hex among spaces', `  ${KEY.toString('hex')}\t\r\n`],
  ])('succeeds for %s', (_, text) => {
    expect(parseKey(text)).toEqual(KEY)
  })

  test.each([
    ['nothing', ''],
    ['31 bytes', KEY.subarray(1).toString('base64')],
    ['33 bytes', Buffer.concat([KEY, KEY.subarray(31)]).toString('base64')],
    ['63 hex digits', KEY.toString('hex').slice(1)],
    ['65 hex digits', `${KEY.toString('hex')}0`],
    ['invalid hex', `g${KEY.toString('hex').slice(1)}`],
    ['words', 'correct horse battery staple'],
    ['two keys', `${KEY.toString('base64')}\n${KEY.toString('base64')}`],
  ])('fails for %s', (_, text) => {
    expect(parseKey(text)).toBeUndefined()
  })
})

describe('a root key file', () => {
  test('may contain the key in hex', async () => {
    await writeFile(join(folder, 'key'), `${KEY.toString('hex')}\n`)
    expect(await readKeyFile(join(folder, 'key'))).toEqual(KEY)
  })

  test.each([
    ['is missing', undefined],
    ['is empty', ''],
    ['is half written', KEY.toString('base64').slice(0, 20)],
  ])('stops startup with an error that names only the file, if the file %s', async (_, text) => {
    const file = join(folder, 'key')
    if (text !== undefined) await writeFile(file, text)
    const fault = await readKeyFile(file).catch((error: unknown) => error)
    expect(fault).toBeInstanceOf(StartupError)
    expect((fault as StartupError).message).toContain(file)
    if (text) expect((fault as StartupError).message).not.toContain(text)
  })
})
