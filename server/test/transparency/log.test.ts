/** The audit log as a transparency log: sealing, heads and proofs, with real tampering. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyCheckpoint } from '@sigstore/verify/dist/tlog/checkpoint.js'
import { verifyMerkleInclusion } from '@sigstore/verify/dist/tlog/merkle.js'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SEALER } from '../../src/features/audit/transparency/sealer.ts'
import { openNote, readVerifierKey } from '../../src/lib/signed-note.ts'
import { consume } from '../../src/platform/journal/index.ts'
import { fresh } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { sealAll, sealedEntryOf } from '../support/sealing.ts'
import { openService, type Service } from '../support/service.ts'

/** Returns a verifier key in the form in which Sigstore trusts a log. */
function logOf(key: string) {
  const [name = '', id = ''] = key.split('+')
  const { publicKey } = readVerifierKey(key) ?? {}
  return { logID: Buffer.from(id, 'hex'), baseURL: `https://${name}`, publicKey }
}

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
})

beforeEach(async () => {
  clinic = await makeClinic(service, root, fresh('sealed'))
  await sealAll(service)
})

const heads = (token: string) => service.call('GET', '/api/admin/audit/heads', { token })
const prove = (entryId: number, token: string) =>
  service.call('GET', `/api/admin/audit/proof/${entryId}`, { token })

async function headOf(tenantId: number) {
  const { status, body } = await heads(root.token)
  expect(status).toBe(200)
  return body.items.find(({ tenant_id }: { tenant_id: number }) => tenant_id === tenantId)
}

async function rename(): Promise<void> {
  const path = `/api/admin/tenants/${clinic.id}`
  const answer = await service.call('PUT', path, {
    token: root.token,
    body: { name: fresh('name') },
  })
  expect(answer.status).toBe(200)
}

async function lastEntryId(): Promise<number> {
  const [entry] = await service.database.sql<{ id: number }>(
    'select id from journal where tenant_id = $1 order by id desc limit 1',
    [clinic.id],
  )
  return entry?.id as number
}

const hash = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()

/** Computes the root that a proof leads to (RFC 9162 §2.1.3.2). */
function rootBy(leaf: string, index: number, size: number, hashes: readonly string[]): string {
  let result = hash(Buffer.of(0), Buffer.from(leaf))
  let [at, last] = [index, size - 1]
  for (const encoded of hashes) {
    const other = Buffer.from(encoded, 'base64')
    if (at % 2 === 1 || at === last) {
      result = hash(Buffer.of(1), other, result)
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
    } else result = hash(Buffer.of(1), result, other)
    ;[at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
  }
  return result.toString('base64')
}

describe('sealing', () => {
  test('adds every entry of a tenant once, in the order of the journal', async () => {
    for (let count = 0; count < 3; count += 1) await rename()
    await service.call('GET', '/api/patients', { token: clinic.people.admin.token })
    await sealAll(service)
    const leaves = await service.database.sql<{ index: number; entry_id: number }>(
      'select index, entry_id from audit_leaves where tenant_id = $1 order by index',
      [clinic.id],
    )
    const entries = await service.database.sql<{ id: number; is_access: boolean }>(
      'select id, is_access from journal where tenant_id = $1 order by xid, id',
      [clinic.id],
    )
    expect(leaves.map(({ entry_id }) => entry_id)).toEqual(entries.map(({ id }) => id))
    expect(leaves.map(({ index }) => index)).toEqual(leaves.map((_, at) => at))
    expect(entries.some(({ is_access }) => is_access)).toBe(true)
    expect((await headOf(clinic.id)).size).toBe(entries.length)
  })

  test('repeats a batch whose transaction failed, without sealing an entry twice', async () => {
    const before = (await headOf(clinic.id)).size
    await rename()
    const failing = {
      ...SEALER,
      handle: async (...given: Parameters<typeof SEALER.handle>) => {
        await SEALER.handle(...given)
        throw new Error('the connection broke')
      },
    }
    // Nothing can be read while a transaction of another test on the same server is open.
    const attempt = async () => {
      while ((await consume(service.app.db, failing)) === 0) await sleep(20)
    }
    await expect(attempt()).rejects.toThrow('the connection broke')
    expect((await headOf(clinic.id)).size).toBe(before)
    await sealAll(service)
    expect((await headOf(clinic.id)).size).toBe(before + 1)
  })

  test('is not stopped by numbers beyond the range of JSON implementations', async () => {
    await service.database.sql(
      `insert into journal (tenant_id, action, resource_type, changes)
       values ($1, 'tenant.updated', 'tenant', '{"a": 1e400}')`,
      [clinic.id],
    )
    await sealAll(service)
    expect(await prove(await lastEntryId(), root.token)).toMatchObject({ status: 200 })
  })

  test('proves entries of a log with more than one level of tiles', async () => {
    await service.database.sql(
      `insert into journal (tenant_id, action, resource_type)
       select $1, 'tenant.updated', 'tenant' from generate_series(1, 1500)`,
      [clinic.id],
    )
    const first = await sealedEntryOf(service, clinic.id)
    for (const id of [first, await lastEntryId()]) {
      const { body } = await prove(id, root.token)
      expect(body.size).toBeGreaterThan(1500)
      const computed = rootBy(body.leaf, body.index, body.size, body.hashes)
      expect(body.checkpoint.split('\n')[2]).toBe(computed)
    }
  })
})

describe('a proof', () => {
  test('and its head are accepted by the code of another project', async () => {
    const { token } = clinic.people.auditor
    for (let count = 0; count < 5; count += 1) await rename()
    const id = await sealedEntryOf(service, clinic.id)
    const { body: head } = await heads(token)
    const { body } = await prove(id, token)
    const openedBy = (envelope: string) =>
      verifyCheckpoint({ inclusionProof: { checkpoint: { envelope } } } as never, [
        logOf(head.key) as never,
      ])
    const opened = openedBy(body.checkpoint)
    expect([opened.origin, opened.logSize]).toEqual([body.origin, BigInt(body.size)])
    const hashes = body.hashes.map((encoded: string) => Buffer.from(encoded, 'base64'))
    const verify = (leaf: string) => {
      const inclusionProof = { logIndex: body.index, hashes }
      const entry = { canonicalizedBody: Buffer.from(leaf), inclusionProof }
      verifyMerkleInclusion(entry as never, opened)
    }
    verify(body.leaf)
    expect(() => verify(`${body.leaf} `)).toThrow('root hash')
    expect(() => openedBy(body.checkpoint.replace(/\n\d+\n/, '\n1000\n'))).toThrow('signature')
  })

  test('can be verified without the service, from the leaf to the signature', async () => {
    const { token } = clinic.people.auditor
    const { body: head } = await heads(token)
    const key = readVerifierKey(head.key)
    const { body } = await prove(await sealedEntryOf(service, clinic.id), token)
    const computed = rootBy(body.leaf, body.index, body.size, body.hashes)
    expect(key && openNote(body.checkpoint, key)).toBe(
      `${body.origin}\n${body.size}\n${computed}\n`,
    )
    expect(body.origin).toMatch(new RegExp(`/audit/[0-9a-f-]{36}/${clinic.id}/1$`))
    expect(body.proof.startsWith(`c2sp.org/tlog-proof@v1\nindex ${body.index}\n`)).toBe(true)
    expect(body.proof.endsWith(`\n\n${body.checkpoint}`)).toBe(true)
  })

  test('contains the salts that open the commitments of the leaf', async () => {
    await rename()
    await sealAll(service)
    const { body } = await prove(await lastEntryId(), root.token)
    const leaf = JSON.parse(body.leaf)
    const { ip, request_id, user_agent, user_email } = body.entry
    // The members are in canonical order.
    const who = JSON.stringify({ ip, request_id, user_agent, user_email })
    const salt = Buffer.from(body.salts.who, 'base64')
    expect(salt).toHaveLength(32)
    expect(leaf.who).toBe(hash(salt, Buffer.from(who)).toString('base64'))
    expect(leaf).toMatchObject({ id: body.entry.id, action: 'tenant.updated', mark: 'ok' })
    expect(user_email).toBe(root.email)
    expect(body.leaf).not.toContain(root.email)
  })

  test('is refused for an entry that is not sealed yet, and for one of another tenant', async () => {
    await rename()
    const id = await lastEntryId()
    expect(await prove(id, root.token)).toMatchObject({
      status: 409,
      body: { code: 'entry_not_sealed' },
    })
    const other = await makeClinic(service, root, fresh('other'))
    await sealAll(service)
    expect(await prove(id, other.people.admin.token)).toMatchObject({ status: 404 })
    expect(await prove(id, clinic.people.admin.token)).toMatchObject({ status: 200 })
  })

  test('is refused once the entry was changed in the database', async () => {
    const id = await sealedEntryOf(service, clinic.id)
    const { sql } = service.database
    await sql(
      `do $$ begin
         set local session_replication_role = replica;
         update journal set user_email = 'somebody@else.test' where id = ${id};
       end $$`,
    )
    expect(await prove(id, root.token)).toMatchObject({
      status: 409,
      body: { code: 'audit_log_altered' },
    })
  })
})

describe('a head', () => {
  test('is the same until the log grows', async () => {
    const first = await headOf(clinic.id)
    expect(await headOf(clinic.id)).toEqual(first)
    await rename()
    await sealAll(service)
    const second = await headOf(clinic.id)
    expect(second.size).toBe(first.size + 1)
    expect(second.checkpoint).not.toBe(first.checkpoint)
  })

  test('is not signed if the log does not extend the last signed head', async () => {
    const { token } = clinic.people.admin
    expect(await heads(token)).toMatchObject({ status: 200 })
    const flip = () =>
      service.database.sql(
        `update audit_tiles set hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0))
         where tenant_id = $1 and level = 0`,
        [clinic.id],
      )
    await flip()
    await rename()
    await sealAll(service)
    expect((await heads(token)).body.items).toMatchObject([{ checkpoint: null }])
    // The heads of other tenants are still signed.
    expect((await headOf(root.tenant_id)).checkpoint).toContain('\n')
    await flip()
    expect((await heads(token)).body.items[0].checkpoint).toContain('\n')
  })

  test('is not signed if the log is smaller than the last signed head', async () => {
    const { size } = await headOf(clinic.id)
    await service.database.sql('update audit_logs set size = size - 1 where tenant_id = $1', [
      clinic.id,
    ])
    expect(await headOf(clinic.id)).toMatchObject({ size: size - 1, checkpoint: null })
    await service.database.sql('update audit_logs set size = $2 where tenant_id = $1', [
      clinic.id,
      size,
    ])
  })

  test('of a copy with another key is signed again in the name of that key', async () => {
    const before = await headOf(clinic.id)
    await service.database.sql('update audit_logs set checkpoint = $2 where tenant_id = $1', [
      clinic.id,
      before.checkpoint.replaceAll('/audit/', '/audit/other-'),
    ])
    expect(await headOf(clinic.id)).toEqual(before)
  })

  test('is handed to superadmins for every tenant, and to others for their own', async () => {
    const { body } = await heads(root.token)
    const ids = body.items.map(({ tenant_id }: { tenant_id: number }) => tenant_id)
    expect(ids).toEqual(expect.arrayContaining([clinic.id, root.tenant_id]))
    const own = await heads(clinic.people.admin.token)
    expect(own.body.items).toMatchObject([{ tenant_id: clinic.id }])
    expect(await heads(clinic.people.nurse.token)).toMatchObject({ status: 403 })
  })

  test('is signed by one key, however many requests come first', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => heads(clinic.people.admin.token)),
    )
    expect(new Set(answers.map(({ body }) => body.key)).size).toBe(1)
    expect(await service.database.sql('select from audit_keys')).toHaveLength(1)
  })
})
