/** Rotations of the key that signs heads: by another process, at once, killed, and of a key that is damaged. */
import { spawn } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { verifyExport } from '../../src/features/audit/offline/index.ts'
import { openNote, readVerifierKey } from '../../src/lib/signed-note.ts'
import { systemTime } from '../../src/lib/time.ts'
import { auditCommands, verifyAuditLogs } from '../../src/open-features.ts'
import { openRootKeys } from '../../src/platform/crypto/index.ts'
import { alone, openScopes } from '../../src/platform/db/index.ts'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import { wardkeep } from '../docs/command.ts'
import { ROOT } from '../docs/documents.ts'
import { fresh } from '../sessions/users.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { holdUp } from '../support/paused-writes.ts'
import { INHERITED } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { marksOf, sealAll } from '../support/sealing.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, rootKeys, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

type Commands = ReturnType<typeof auditCommands>

let service: Service
let root: Person
let clinic: Clinic
/** The commands as another process has them: with its own connection and its own opened keys. */
let other: Commands

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, fresh('rotated'))
  other = await commands()
})

beforeEach(async () => {
  await sql('delete from audit_keys where retired_at is not null')
  await sealAll(service)
})

async function commands(): Promise<Commands> {
  const db = openScopes(service.database.address, {
    clock: systemTime,
    size: 1,
    changes: alone,
    log: silentLog,
  })
  atTheEnd(db.close)
  const { sealer } = await openRootKeys(db, rootKeys(ROOT_KEY))
  return auditCommands({
    db,
    log: silentLog,
    sealer,
    publicUrl: 'http://wardkeep.test',
    dataDir: service.dataDir,
  })
}

const sql = <T extends object>(text: string, values: unknown[] = []) =>
  service.database.sql<T>(text, values)

/** Rotates in another process. Returns the keys that sign, the current one first. */
async function rotate(by = other): Promise<string[]> {
  const { current, former } = await by.rotateKey()
  return [current, ...former.map(({ key }) => key)]
}

interface Heads {
  key: string
  former_keys: string[]
  items: { tenant_id: number; checkpoint: string }[]
}

async function heads(token = root.token): Promise<Heads> {
  const { status, body } = await service.call('GET', '/api/admin/audit/heads', { token })
  expect(status).toBe(200)
  return body
}

const checkpointIn = ({ items }: Heads) =>
  items.find(({ tenant_id }) => tenant_id === clinic.id)?.checkpoint as string
const checkpoint = async () => checkpointIn(await heads())
const nameOf = (key: string) => key.split('+')[0]

/** Returns whether a key has signed a head. */
function isSigned(note: string, key: string): boolean {
  const verifier = readVerifierKey(key)
  if (!verifier) throw new Error(`not a key: ${key}`)
  return openNote(note, verifier) !== undefined
}

const signatures = (note: string) => note.trimEnd().split('\n').slice(4).length

/** Lets time pass for all retired keys. */
const elapse = (time: string) =>
  sql('update audit_keys set retired_at = retired_at - $1::interval where retired_at is not null', [
    time,
  ])

const entries = () =>
  sql<{
    tenant_id: null
    resource_id: string
    changes: Record<'before' | 'after', { key: string }>
  }>(
    `select tenant_id, resource_id, changes from journal where action = 'audit.key_rotated' order by id`,
  )

async function kept(name: string, note: string): Promise<string> {
  const file = path.join(await scratch(), name)
  await writeFile(file, note)
  return file
}

describe('after a rotation by another process', () => {
  test('a running service signs each head with the new key and the former one, in the same name', async () => {
    const before = await heads()
    const keys = await rotate()
    const after = await heads()
    expect([after.key, ...after.former_keys]).toEqual(keys)
    expect(after.key).not.toBe(before.key)
    expect(after.former_keys).toEqual([before.key])
    expect(nameOf(after.key)).toBe(nameOf(before.key))
    const note = checkpointIn(after)
    expect(signatures(note)).toBe(2)
    expect([after.key, before.key].every((key) => isSigned(note, key))).toBe(true)
    // The log did not grow, so only the signatures differ.
    expect(note.split('\n\n')[0]).toBe(checkpointIn(before).split('\n\n')[0])
    expect(await heads(clinic.people.auditor.token)).toMatchObject({
      key: after.key,
      former_keys: [before.key],
      items: [{ checkpoint: note }],
    })
  })

  test('proofs and checkpoints of the tiles have both signatures', async () => {
    const { key: former } = await heads()
    const [key = ''] = await rotate()
    const read = (where: string) =>
      service.call('GET', `/api/admin/audit/${where}`, { token: root.token })
    const [leaf] = await sql<{ entry_id: number }>(
      'select entry_id from audit_leaves where tenant_id = $1 limit 1',
      [clinic.id],
    )
    const { body: proof } = await read(`proof/${leaf?.entry_id}`)
    const { body: file } = await read(`log/${clinic.id}/checkpoint`)
    for (const note of [proof.checkpoint, file])
      expect([isSigned(note, key), isSigned(note, former)]).toEqual([true, true])
  })

  test('the journal has an entry without a tenant, with both public keys and a valid mark', async () => {
    const { key: former } = await heads()
    const [key] = await rotate()
    const [id] = await sql<{ id: string }>('select id from audit_keys where retired_at is null')
    expect((await entries()).at(-1)).toEqual({
      tenant_id: null,
      resource_id: id?.id,
      changes: { before: { key: former }, after: { key } },
    })
    expect(await marksOf(service, ['audit.key_rotated'])).toEqual(['ok'])
  })

  test('the former key signs for 30 days, and not longer', async () => {
    const { key: former } = await heads()
    const [key = ''] = await rotate()
    await elapse('29 days 23 hours')
    await grow()
    expect(isSigned(await checkpoint(), former)).toBe(true)
    await elapse('1 hour')
    await grow()
    const after = await heads()
    expect(after.former_keys).toEqual([])
    const note = checkpointIn(after)
    expect([signatures(note), isSigned(note, key)]).toEqual([1, true])
    expect(await other.keys()).toEqual({ current: key, former: [] })
  })

  test('several former keys sign, the last retired one first', async () => {
    const { key: first } = await heads()
    const [second = ''] = await rotate()
    const [third = ''] = await rotate()
    const { key, former_keys } = await heads()
    expect([key, ...former_keys]).toEqual([third, second, first])
    const note = await checkpoint()
    expect([first, second, third].every((one) => isSigned(note, one))).toBe(true)
  })
})

async function grow(): Promise<void> {
  const to = `/api/admin/tenants/${clinic.id}`
  const body = { name: fresh('name') }
  expect(await service.call('PUT', to, { token: root.token, body })).toMatchObject({ status: 200 })
  await sealAll(service)
}

/** Verifies the database. Returns the reasons why it is not as it was, or cannot be checked. */
async function doubts(keys: string[], ...files: string[]): Promise<string[]> {
  const { findings, unchecked } = await verifyAuditLogs(service.app.db, { heads: files, keys })
  return [...findings.map(({ kind }) => kind), ...unchecked]
}

describe('a verification', () => {
  test('accepts heads of either key for 30 days, and kept heads of the old key forever', async () => {
    const old = await heads()
    const head = await kept('old', checkpointIn(old))
    const [key = ''] = await rotate()
    await grow()
    const now = await kept('now', await checkpoint())
    expect(await doubts([], head, now)).toEqual([])
    expect(await doubts([old.key], head, now)).toEqual([])
    expect(await doubts([key], now)).toEqual([])
    // The new key has not signed the old head.
    expect(await doubts([key], head)).toEqual([expect.stringContaining('is not signed with')])
    await elapse('31 days')
    await grow()
    await heads()
    expect(await doubts([], head)).toEqual([])
    expect(await doubts([old.key, key], head)).toEqual([])
    expect(await doubts([old.key], head)).not.toEqual([])
  })

  test('accepts the heads in the database with the new key alone right after the rotation', async () => {
    await heads()
    const [key = ''] = await rotate()
    expect(await doubts([key])).toEqual([])
  })

  test('accepts exports with either key', async () => {
    const { key: old } = await heads()
    const [key = ''] = await rotate()
    const out = path.join(await scratch(), 'log.jsonl')
    await other.export({ out })
    for (const keys of [[], [old], [key]])
      expect(await verifyExport(out, { heads: [], keys })).toMatchObject({
        findings: [],
        unchecked: [],
      })
  })

  test('accepts an export of an altered log whose last head only the former key has signed', async () => {
    await heads()
    const flip = () =>
      sql(
        `update audit_tiles set hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0))
         where tenant_id = $1 and level = 0`,
        [clinic.id],
      )
    await flip()
    // The rotation passes over the altered log and signs the other ones.
    const [key = ''] = await rotate()
    const rows = await sql<{ tenant_id: number; checkpoint: string }>(
      'select tenant_id, checkpoint from audit_logs where checkpoint is not null',
    )
    const old = rows.filter(({ checkpoint: note }) => !isSigned(note, key))
    expect(old.map(({ tenant_id }) => tenant_id)).toEqual([clinic.id])
    const out = path.join(await scratch(), 'log.jsonl')
    await other.export({ out, tenantId: clinic.id })
    expect(await readFile(out, 'utf8')).not.toContain(key)
    const { findings, unchecked } = await verifyExport(out, { heads: [], keys: [] })
    expect(unchecked).toEqual([])
    expect(findings).not.toEqual([])
    await flip()
  })
})

describe('concurrent rotations', () => {
  test('take place one after the other, beside a service that signs', async () => {
    const { key: first } = await heads()
    const before = (await entries()).length
    const processes = [other, await commands(), await commands()]
    const rotating = Promise.all(processes.map(rotate))
    let isOver = false
    void rotating.finally(() => {
      isOver = true
    })
    // Each head that is handed out is signed with the first key.
    while (!isOver) {
      expect(isSigned(await checkpoint(), first)).toBe(true)
      await grow()
    }
    await rotating
    const { key, former_keys } = await heads()
    const keys = [key, ...former_keys].toReversed()
    expect([keys[0], keys.length]).toEqual([first, 4])
    const added = (await entries()).slice(before)
    expect(added.map(({ changes }) => changes.before.key)).toEqual(keys.slice(0, -1))
    expect(added.map(({ changes }) => changes.after.key)).toEqual(keys.slice(1))
  })

  test('create keys of one name, even if there is none before', async () => {
    // As in a new installation, which has neither keys nor kept heads.
    await sql('delete from audit_keys')
    await rm(path.join(service.dataDir, 'audit-heads'), { recursive: true })
    const nodes = [await commands(), await commands(), await commands()]
    await Promise.all(nodes.map((node, at) => (at === 0 ? node.keys() : node.rotateKey())))
    const rows = await sql<{ name: string; retired_at: string | null }>(
      'select name, retired_at from audit_keys',
    )
    expect(new Set(rows.map(({ name }) => name)).size).toBe(1)
    expect(rows.filter(({ retired_at }) => retired_at === null)).toHaveLength(1)
  })
})

test('a rotation that is killed in the middle changes nothing, and can be repeated', async () => {
  const before = await heads()
  const count = (await entries()).length
  const held = await holdUp(service.database, { table: 'audit_keys', moment: 'before' })
  const command = path.join(ROOT, 'server/src/main.ts')
  const child = spawn(process.execPath, [command, 'audit', 'rotate-key'], {
    env: {
      ...INHERITED,
      DATABASE_URL: service.database.url,
      ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
      DATA_DIR: path.join(await scratch(), 'data'),
    },
  })
  // The rotation has retired the key and is about to insert the next one.
  await held.met()
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  await held.release()
  await until('the server has ended the transaction', async () => {
    const open = await sql(
      `select from pg_locks where locktype = 'advisory' and objid = ${LOCKS.auditKey} and ${OF_THIS_DATABASE}`,
    )
    return open.length === 0 || undefined
  })
  expect(await heads()).toEqual(before)
  expect(await entries()).toHaveLength(count)
  const [key] = await rotate()
  expect(await heads()).toMatchObject({ key, former_keys: [before.key] })
})

describe('a key that cannot be decrypted', () => {
  test('is replaced by a rotation, which does not need it', async () => {
    const before = await heads()
    await sql(
      `update audit_keys set sealed_private_key = set_byte(sealed_private_key, 40,
        get_byte(sealed_private_key, 40) # 1)`,
    )
    const damaged = await commands()
    await expect(damaged.keys()).rejects.toThrow(/^audit_keys\.sealed_private_key of row/)
    const keys = await rotate(damaged)
    expect(keys).toHaveLength(1)
    expect(nameOf(keys[0] ?? '')).toBe(nameOf(before.key))
    const [{ checkpoint: note = '' } = {}] = await sql<{ checkpoint: string }>(
      'select checkpoint from audit_logs where tenant_id = $1',
      [clinic.id],
    )
    expect([isSigned(note, keys[0] ?? ''), isSigned(note, before.key)]).toEqual([true, false])
    // The heads that the lost key signed are still verified.
    expect(await doubts([], await kept('before', checkpointIn(before)))).toEqual([])
  })
})

test('the commands print the key, and below it the former keys with their last day', async () => {
  const { key: former } = await heads()
  const { code, stdout, stderr } = await wardkeep(service.database, ['audit', 'rotate-key'])
  expect([code, stderr]).toEqual([0, ''])
  const [current, below, ...more] = stdout.trimEnd().split('\n')
  expect(current).toBe((await heads()).key)
  expect(below).toMatch(/^\S+ \(former key, signs until \d{4}-\d{2}-\d{2}\)$/)
  expect(below?.split(' ')[0]).toBe(former)
  expect(more).toEqual([])
  expect(await wardkeep(service.database, ['audit', 'key'])).toMatchObject({ code: 0, stdout })
})
