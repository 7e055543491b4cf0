/** A database that an older copy replaced: its logs continue in new epochs, and no log ever signs two histories. */
import { cp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { verifyExport } from '../../src/features/audit/offline/index.ts'
import { auditCommands, verifyAuditLogs } from '../../src/open-features.ts'
import { openRootSealer } from '../../src/platform/crypto/index.ts'
import { makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { copyOf, type TestDatabase } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { sealAll } from '../support/sealing.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, rootKeys, type Service } from '../support/service.ts'

interface Head {
  tenant_id: number
  epoch: number
  size: number
  checkpoint: string | null
}

let dataDir: string
/** A copy of the folder from when the copy replaced the original. */
let replaced: string
let root: Person
let tenantId: number
/** The database as it was, and the older copy of it that replaced it. */
let original: TestDatabase
let copy: TestDatabase
/** An older copy that another service continued, without the kept heads. */
let forked: TestDatabase
/** The heads of the clinic: when the copy was made, and when it replaced the original. */
let early: Head
let late: Head

const open = (database: TestDatabase, folder = dataDir) =>
  openService({ database, config: { DATA_DIR: folder }, background: ['audit'] })

/** Returns a folder with the heads that were kept when the copy replaced the original. */
async function headsAtReplacement(): Promise<string> {
  const folder = await scratch()
  await cp(replaced, folder, { recursive: true })
  return folder
}

async function headOf(service: Service, tenant = tenantId): Promise<Head> {
  const { body } = await service.call('GET', '/api/admin/audit/heads', { token: root.token })
  return body.items.find(({ tenant_id }: Head) => tenant_id === tenant)
}

async function rename(service: Service, name: string): Promise<void> {
  const changed = await service.call('PUT', `/api/admin/tenants/${tenantId}`, {
    token: root.token,
    body: { name },
  })
  expect(changed.status).toBe(200)
}

async function sealedHead(service: Service): Promise<Head> {
  await sealAll(service)
  return headOf(service)
}

const leavesOf = (database: TestDatabase, epoch: number, tenant = tenantId) =>
  database.sql<{ index: number; action: string; id: number; mark: string; changes: any }>(
    `select index, action, id, mark, changes from audit_leaves
     join journal on id = entry_id where audit_leaves.tenant_id = $1 and epoch = $2 order by index`,
    [tenant, epoch],
  )

async function keep({ checkpoint }: Head, name: string): Promise<string> {
  const file = path.join(dataDir, name)
  await writeFile(file, checkpoint ?? '')
  return file
}

async function commandsOf({ app }: Service) {
  const sealer = await openRootSealer(app.db, rootKeys(ROOT_KEY))
  return auditCommands({
    db: app.db,
    log: silentLog,
    sealer,
    publicUrl: 'http://wardkeep.test',
    dataDir,
  })
}

beforeAll(async () => {
  dataDir = await scratch()
  const first = await openService({ config: { DATA_DIR: dataDir } })
  original = first.database
  root = await superadmin(first)
  tenantId = (await makeClinic(first, root, 'epochs')).id
  early = await sealedHead(first)
  await rename(first, 'Sealed, but without a signed head')
  await sealAll(first)
  await first.close()
  copy = await copyOf(original)
  forked = await copyOf(original)
  const second = await open(original)
  for (const name of ['Lost once', 'Lost twice']) await rename(second, name)
  late = await sealedHead(second)
  await second.close()
  replaced = await scratch()
  await cp(dataDir, replaced, { recursive: true })
})

describe('a service whose database has the newest signed heads', () => {
  it('continues its logs after a restart', async () => {
    const service = await open(original, await headsAtReplacement())
    await service.idle('audit')
    expect(await headOf(service)).toMatchObject({ epoch: 1, size: late.size })
    await service.close()
  })
})

describe('a service whose database was replaced by an older copy', () => {
  it('does not sign a head before the new epoch has begun', async () => {
    const service = await openService({ database: copy, config: { DATA_DIR: dataDir } })
    const refused = await service.call('GET', `/api/admin/audit/log/${tenantId}/checkpoint`, {
      token: root.token,
    })
    expect(refused).toMatchObject({ status: 409, body: { code: 'audit_log_altered' } })
    await service.close()
  })

  it('begins a new epoch of every log once, with an entry that names the last known head', async () => {
    const nodes = await Promise.all([open(copy), open(copy)])
    for (const node of nodes) await node.idle('audit')
    for (const node of nodes) await node.close()
    const again = await open(copy)
    await again.idle('audit')
    const head = await headOf(again)
    expect(head).toMatchObject({ epoch: 2 })
    expect(head.checkpoint).toContain(`/${tenantId}/2\n`)
    const [first, ...others] = await leavesOf(copy, 2)
    expect(first).toMatchObject({ index: 0, action: 'audit.epoch_started', mark: 'ok' })
    const [origin, size, hash] = late.checkpoint?.split('\n') ?? []
    expect(first?.changes.former).toEqual({ origin, size: Number(size), root: hash })
    expect(first?.changes.restored).toMatchObject({ origin, size: early.size + 1 })
    expect(others.map(({ action }) => action)).not.toContain('audit.epoch_started')
    const [ofPlatform] = await leavesOf(copy, 2, 0)
    expect(ofPlatform).toMatchObject({ index: 0, action: 'audit.epoch_started' })
    const ended = await copy.sql('select from audit_logs where epoch = 1 and ended_at is null')
    expect(ended).toEqual([])
    await again.close()
  })

  it('seals later entries in the new epoch, and proves them', async () => {
    const service = await open(copy)
    await rename(service, 'After the copy')
    const { size } = await sealedHead(service)
    const renamed = (await leavesOf(copy, 2)).at(-1)
    expect(renamed).toMatchObject({ action: 'tenant.updated', index: size - 1 })
    const proof = await service.call('GET', `/api/admin/audit/proof/${renamed?.id}`, {
      token: root.token,
    })
    expect(proof).toMatchObject({ status: 200, body: { index: size - 1, size } })
    await service.close()
  })

  it('proves earlier entries with the last head of their epoch, which it never signs again', async () => {
    const service = await open(copy)
    const leaves = await leavesOf(copy, 1)
    const prove = (id: number | undefined) =>
      service.call('GET', `/api/admin/audit/proof/${id}`, { token: root.token })
    const proof = await prove(leaves[0]?.id)
    expect(proof).toMatchObject({ status: 200, body: { checkpoint: early.checkpoint } })
    expect(await prove(leaves.at(-1)?.id)).toMatchObject({
      status: 409,
      body: { code: 'audit_epoch_ended' },
    })
    await service.close()
  })

  it('exports all epochs, which verify with the heads from before the copy', async () => {
    const service = await open(copy)
    const commands = await commandsOf(service)
    const out = path.join(dataDir, 'epochs.jsonl')
    await commands.export({ out, tenantId })
    const kept = { keys: [(await commands.keys()).current], heads: [await keep(early, 'early')] }
    for (const report of [
      await verifyExport(out, kept),
      await verifyAuditLogs(service.app.db, kept),
    ]) {
      expect([report.findings, report.unchecked]).toEqual([[], []])
      const own = report.logs.filter(({ tenant_id }) => tenant_id === tenantId)
      expect(own.map(({ size, heads }) => [size, heads])).toEqual([
        [(await headOf(service)).size, 1],
        // The last head of the epoch, the kept one, and that in the first entry of the next epoch.
        [early.size + 1, 3],
      ])
    }
    const lost = { ...kept, heads: [await keep(late, 'late')] }
    const { findings } = await verifyExport(out, lost)
    expect(findings).toMatchObject([{ kind: 'rolled_back', tenant_id: tenantId }])
    await service.close()
  })

  it('exports an ended epoch without hiding that its last entries were changed', async () => {
    const service = await open(copy)
    const [last] = (await leavesOf(copy, 1)).slice(-1)
    await copy.sql(`do $$ begin set local session_replication_role = replica;
      update journal set action = 'tenant.created' where id = ${last?.id}; end $$`)
    const commands = await commandsOf(service)
    const out = path.join(dataDir, 'changed.jsonl')
    await commands.export({ out, tenantId })
    const { findings } = await verifyExport(out, {
      keys: [(await commands.keys()).current],
      heads: [],
    })
    expect(findings).toMatchObject([{ kind: 'changed', entry_id: last?.id }])
    await service.close()
  })

  it('reports an epoch that somebody else began', async () => {
    const service = await open(copy)
    const own = `where tenant_id = ${tenantId}`
    await copy.sql(`update audit_logs set ended_at = now() ${own} and ended_at is null`)
    await copy.sql(
      `insert into audit_logs (tenant_id, epoch) select ${tenantId}, max(epoch) + 1 from audit_logs ${own}`,
    )
    await rename(service, 'Forged')
    await sealAll(service)
    const { findings } = await verifyAuditLogs(service.app.db, { keys: [], heads: [] })
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: 'forked', tenant_id: tenantId, index: 0 }),
    )
    await service.close()
  })

  it('begins a further epoch if the original database is used again', async () => {
    const service = await open(original)
    await service.idle('audit')
    expect(await headOf(service)).toMatchObject({ epoch: 3 })
    const [first] = await leavesOf(original, 3)
    expect(first?.changes.former.origin).toMatch(/\/2$/)
    await service.close()
  })
})

describe('a service whose database has another history than the signed heads', () => {
  it('begins a new epoch although the log is longer', async () => {
    const elsewhere = await openService({ database: forked, background: ['audit'] })
    for (const name of ['One', 'Two', 'Three', 'Four']) await rename(elsewhere, name)
    expect((await sealedHead(elsewhere)).size).toBeGreaterThan(late.size)
    await elsewhere.close()
    const service = await open(forked, await headsAtReplacement())
    await service.idle('audit')
    expect(await headOf(service)).toMatchObject({ epoch: 2 })
    const [first] = await leavesOf(forked, 2)
    expect(first?.changes.former).toMatchObject({ size: late.size })
    await service.close()
  })
})
