/** Witnesses of the platform's log: a real protocol with state, and witnesses that fail, hang or lie. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { submitHead } from '../../src/features/audit/transparency/witnesses.ts'
import { findCosignature } from '../../src/lib/merkle/cosignature.ts'
import { openNote, readVerifierKey, splitNote } from '../../src/lib/signed-note.ts'
import { verifyAuditLogs } from '../../src/open-features.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'
import { openWitnessScene, type WitnessScene } from './witness-scene.ts'
import type { WitnessServer } from './witness-server.ts'

let scene: WitnessScene
let one: WitnessServer
let two: WitnessServer

beforeAll(async () => {
  scene = await openWitnessScene()
  ;({ one, two } = scene)
})

beforeEach(() => scene.reset())

const submit = (...targets: WitnessServer[]) => scene.submit(...targets)
const grow = (entries?: number) => scene.grow(entries)
const platform = () => scene.platform()
const states = () => scene.states()
const failures = () => scene.failures()

describe('a submission', () => {
  test('gets a cosignature of each witness, and keeps the head with both signatures', async () => {
    await submit()
    const { key, size, checkpoint, witnesses } = await platform()
    expect(witnesses.map(({ name, url }) => [name, url])).toEqual([
      ['witness.test/one', one.witness.url.href],
      ['witness.test/two', two.witness.url.href],
    ])
    const ours = readVerifierKey(key)
    for (const [at, { verifier }] of [one.witness, two.witness].entries()) {
      const item = witnesses[at]
      expect(item).toMatchObject({ size, failure: null })
      const { text = '', lines = '' } = splitNote(item?.checkpoint ?? '') ?? {}
      expect(item?.checkpoint?.startsWith(checkpoint)).toBe(true)
      const { time = 0 } = findCosignature(text, lines, verifier) ?? {}
      expect(item?.cosigned_at).toBe(new Date(time * 1000).toISOString())
      expect(ours && openNote(item?.checkpoint ?? '', ours)).toBe(text)
    }
    expect(scene.logged).toEqual([])
    // Auditors verify the log with a cosigned head as with any other one.
    const file = path.join(await scratch(), 'cosigned')
    await writeFile(file, witnesses[0]?.checkpoint ?? '')
    const report = await verifyAuditLogs(scene.deps.db, { heads: [file], keys: [key] })
    expect([report.findings, report.unchecked]).toEqual([[], []])
  })

  test('proves that the log extends the last head that the witness cosigned, over many tiles', async () => {
    await submit(one)
    for (const entries of [1, 2, 300, 5, 700]) {
      await grow(entries)
      await submit(one)
    }
    const [first, ...later] = one.requests
    // The witness may know an earlier head of this file.
    expect(later.filter(({ status }) => status === 200)).toHaveLength(first?.status === 200 ? 5 : 6)
    expect((await states())[0]).toMatchObject({ size: (await platform()).size, failure: null })
  })

  test('is not repeated for a head that the witness has cosigned', async () => {
    await submit()
    one.requests = []
    await submit()
    expect(one.requests).toEqual([])
  })

  test('continues at the size that the witness names, if the database does not know it', async () => {
    await submit(one)
    const { size } = one.state
    await scene.sql('delete from audit_witnesses')
    await grow()
    one.requests = []
    await submit(one)
    expect(one.requests).toEqual([
      { old: 0, status: 409 },
      { old: size, status: 200 },
    ])
    expect(await failures()).toEqual([null, null])
  })

  test('gets the cosignature again if the witness has cosigned the same head', async () => {
    await submit(one)
    await scene.sql('delete from audit_witnesses')
    one.requests = []
    await submit(one)
    expect(one.requests.at(-1)).toEqual({ old: one.state.size, status: 200 })
    expect((await states())[0]).toMatchObject({ size: one.state.size, failure: null })
  })

  test('has the signatures of all keys that sign, so that a witness needs the new key only later', async () => {
    await submit(one)
    await scene.commands.rotateKey()
    await grow()
    await submit(one)
    const { key, size, witnesses } = await platform()
    expect(witnesses[0]).toMatchObject({ size, failure: null })
    const current = readVerifierKey(key)
    expect(current && openNote(witnesses[0]?.checkpoint ?? '', current)).toBeDefined()
  })

  test('by several nodes at once gives the newest head', async () => {
    await Promise.all([submit(), grow().then(() => submit()), submit()])
    const { size } = await platform()
    await submit()
    expect((await states()).map((item) => [item.size, item.failure])).toEqual([
      [size, null],
      [size, null],
    ])
    expect(scene.logged).toEqual([])
  })
})

describe('a witness', () => {
  test.each([
    ['that does not know the log', { trusted: [] }, /does not know this log \(HTTP 404\)/],
    [
      'that trusts another key',
      { trusted: [{ ...generateKeyPairSync('ed25519'), name: 'other' }] },
      /does not have a key of this log \(HTTP 403\)/,
    ],
  ])('%s is reported, and the others cosign', async (_, change, reason) => {
    Object.assign(one, change)
    await submit()
    const [first, second] = await states()
    expect(first?.failure).toMatch(reason)
    expect(second).toMatchObject({ failure: null, size: (await platform()).size })
    expect(scene.logged).toEqual([
      ['warn', expect.objectContaining({ witness: 'witness.test/one' }), 'a witness failed'],
    ])
    // The next success ends the failure.
    one.trusted = two.trusted
    await submit()
    expect(await failures()).toEqual([null, null])
  })

  test.each<[string, NonNullable<WitnessServer['misbehave']>, RegExp]>([
    ['answers with an error', (response) => response.writeHead(500).end(), /failed \(HTTP 500\)/],
    [
      'redirects',
      (response) => response.writeHead(307, { location: 'https://other.test/' }).end(),
      /failed \(HTTP 307\)/,
    ],
    ['answers with nothing', (response) => response.end(), /no valid cosignature/],
    ['closes the connection', (response) => response.destroy(), /./],
    [
      'answers with megabytes',
      (response) => response.end('\u2014 witness.test/one AAAA\n'.repeat(200_000)),
      /./,
    ],
    [
      'signs another head',
      (response) =>
        response.end(one.cosign('other\n1\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n')),
      /no valid cosignature/,
    ],
    [
      'answers with the line of another witness',
      (response, lines) => response.end(lines.replace('/one', '/two')),
      /no valid cosignature/,
    ],
    [
      'names sizes without end',
      (response) => response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end('1\n'),
      /HTTP 409/,
    ],
    [
      'names no size',
      (response) => response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end('many\n'),
      /HTTP 409/,
    ],
  ])('that %s is refused, and the others cosign', async (_, misbehave, reason) => {
    one.misbehave = misbehave
    await submit()
    const [first, second] = await states()
    expect(first?.failure).toMatch(reason)
    expect(second).toMatchObject({ failure: null, size: (await platform()).size })
    expect(first?.size).not.toBe(second?.size)
  })

  test('whose cosignature has another signature or a future time is refused', async () => {
    const text = splitNote((await platform()).checkpoint)?.text ?? ''
    one.misbehave = (response) =>
      response.end(one.cosign(text, 5n, generateKeyPairSync('ed25519').privateKey))
    await submit(one)
    expect((await failures())[0]).toMatch(/no valid cosignature/)
    const later = BigInt(Math.floor(Date.now() / 1000) + 86_400)
    one.misbehave = (response) => response.end(one.cosign(text, later))
    await submit(one)
    expect((await failures())[0]).toMatch(/in the future/)
    expect((await states())[0]).toMatchObject({ size: 0, checkpoint: null })
  })

  test('that hangs delays no other witness, and holds no transaction', async () => {
    const hanging = new Promise<void>((resolve) => {
      one.misbehave = () => resolve()
    })
    const abort = new AbortController()
    const submitting = submitHead({ ...scene.deps, targets: [one, two], signal: abort.signal })
    await hanging
    await until('the other witness has cosigned', async () => {
      const [, second] = await states()
      return second?.size === two.state.size && second.size > 0 ? true : undefined
    })
    const open = await scene.sql(
      `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    )
    expect(open).toEqual([])
    // The log continues to grow and to be signed.
    const { size } = await platform()
    await grow()
    expect((await platform()).size).toBeGreaterThan(size)
    abort.abort()
    await submitting
    // A shutdown is not a failure of the witness.
    expect((await failures())[0]).toBeNull()
  })
})

describe('evidence of another history', () => {
  test('is a witness that has cosigned more entries than the log has', async () => {
    await submit(one)
    const known = one.state
    one.state = { ...known, size: known.size + 50 }
    await grow()
    await submit(one)
    const [first] = await states()
    expect(first?.failure).toMatch(
      new RegExp(`^the witness has cosigned ${known.size + 50} entries, but the log has`),
    )
    expect(scene.logged.map(([level, , message]) => [level, message])).toEqual([
      ['error', 'a witness contradicts the audit log'],
    ])
    one.state = known
    await submit(one)
    expect(await failures()).toEqual([null, null])
  })

  test('is a witness that has cosigned other entries, fewer or as many', async () => {
    await submit(one)
    const known = one.state
    one.state = { ...known, root: Buffer.alloc(32, 1) }
    await grow()
    await submit(one)
    expect((await failures())[0]).toMatch(/does not extend the head of \d+ entries \(HTTP 422\)/)
    one.state = { size: (await platform()).size, root: Buffer.alloc(32, 1) }
    await submit(one)
    expect((await failures())[0]).toMatch(/has cosigned another head of \d+ entries \(HTTP 409\)/)
    expect(scene.logged.map(([level]) => level)).toEqual(['error', 'error'])
    one.state = known
  })

  test('is not a head that another node has submitted in the meantime', async () => {
    const before = await scene.deps.heads.platform()
    await grow()
    await submit(one)
    let calls = 0
    const heads = {
      platform: async () => {
        calls += 1
        return calls === 1 ? before : scene.deps.heads.platform()
      },
    }
    await scene.sql('update audit_witnesses set size = 0')
    const { signal } = new AbortController()
    await submitHead({ ...scene.deps, heads, targets: [one], signal })
    expect(calls).toBe(2)
    expect([await failures(), scene.logged]).toEqual([[null, null], []])
  })

  test('is not submitted if the service itself finds the log altered', async () => {
    await platform()
    const flip = () =>
      scene.sql(
        `update audit_tiles set hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0))
         where tenant_id = 0 and level = 0`,
      )
    await flip()
    await grow()
    one.requests = []
    await submit(one)
    expect(one.requests).toEqual([])
    await flip()
  })
})

test('witnesses are only shown to superadmins, with log 0', async () => {
  await submit()
  const { body } = await scene.service.call('GET', '/api/admin/audit/heads', {
    token: scene.root.token,
  })
  for (const { tenant_id, witnesses } of body.items)
    expect(witnesses).toHaveLength(tenant_id === 0 ? 2 : 0)
})
