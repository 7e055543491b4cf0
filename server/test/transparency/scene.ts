/** A tenant's log with its exports, kept heads, and tampering with rows that the database protects. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { verifyExport } from '../../src/features/audit/offline/index.ts'
import { auditCommands, verifyAuditLogs } from '../../src/open-features.ts'
import { openRootSealer } from '../../src/platform/crypto/index.ts'
import { appendAll, SYSTEM } from '../../src/platform/journal/index.ts'
import { fresh } from '../sessions/users.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { scratch } from '../support/scratch.ts'
import { sealAll } from '../support/sealing.ts'
import { silentLog } from '../support/server-address.ts'
import { ROOT_KEY, rootKeys, type Service } from '../support/service.ts'

export interface LogScene {
  clinic: Clinic
  /** A folder for exports and heads. */
  folder: string
  /** Adds entries to the log and seals them. @param ageDays the age of the entries that are not sealed yet, in days */
  grow(entries: number, ageDays?: number): Promise<void>
  /** Exports the log of the clinic. Returns the path. */
  export(name: string, span?: { from?: string; to?: string }): Promise<string>
  /** Signs the current head. Returns the path of a file with it. */
  keepHead(name: string): Promise<string>
  key(): Promise<string>
  /** Returns the kinds and places of the findings in an export. */
  findingsIn(file: string, kept?: Partial<Parameters<typeof verifyExport>[1]>): Promise<object[]>
  /** Returns the kinds and places of the findings in the database. */
  findingsInDatabase(heads?: string[]): Promise<object[]>
  /** Runs SQL although the journal is append-only. */
  tamper(sql: string): Promise<void>
  /** Runs `work`, whose entries have an age in days. */
  aged(ageDays: number, work: () => Promise<unknown>): Promise<void>
  /** Returns the id of the entry at an index. */
  entryAt(index: number): Promise<number>
}

export async function openLogScene(service: Service): Promise<LogScene> {
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, fresh('verified'))
  const folder = await scratch()
  const { sql } = service.database
  const { db } = service.app
  const sealer = await openRootSealer(db, rootKeys(ROOT_KEY))
  const audit = auditCommands({
    db,
    log: silentLog,
    sealer,
    publicUrl: 'http://wardkeep.test',
    dataDir: folder,
  })
  const tamper = async (statement: string) => {
    await sql(`do $$ begin set local session_replication_role = replica; ${statement}; end $$`)
  }
  const findings = ({ findings: found, unchecked }: Awaited<ReturnType<typeof verifyExport>>) => {
    if (unchecked.length > 0) throw new Error(unchecked.join('\n'))
    return found
      .filter(({ tenant_id }) => tenant_id === clinic.id)
      .map(({ kind, index, entry_id }) => ({ kind, index, entry_id }))
  }
  return {
    clinic,
    folder,
    async grow(entries, ageDays = 0) {
      const names = Array.from({ length: entries }, (_, at) => `N${at + 1}`)
      await db.acrossTenants(async (tx) =>
        appendAll(
          tx,
          { ...SYSTEM, user_email: 'anna@north.test' },
          names.map((name) => ({
            action: 'tenant.updated',
            tenant_id: clinic.id,
            resource_type: 'tenant',
            resource_id: name,
            changes: { after: { name } },
          })),
        ),
      )
      if (ageDays > 0) {
        await sql('select ensure_journal_partitions(0, 24)')
        await tamper(`update journal set created_at = created_at - interval '${ageDays} days'
          where tenant_id = ${clinic.id} and not exists (
            select from audit_leaves leaf where leaf.entry_id = journal.id)`)
      }
      await sealAll(service)
    },
    async export(name, span = {}) {
      const out = path.join(folder, name)
      await audit.export({ out, tenantId: clinic.id, ...span })
      return out
    },
    async keepHead(name) {
      const { body } = await service.call('GET', '/api/admin/audit/heads', { token: root.token })
      const own = body.items.find(({ tenant_id }: { tenant_id: number }) => tenant_id === clinic.id)
      const file = path.join(folder, name)
      await writeFile(file, own.checkpoint)
      return file
    },
    key: async () => (await audit.keys()).current,
    findingsIn: async (file, kept = {}) =>
      findings(
        await verifyExport(file, { heads: [], keys: [(await audit.keys()).current], ...kept }),
      ),
    findingsInDatabase: async (heads = []) =>
      findings(await verifyAuditLogs(db, { heads, keys: [] })),
    tamper,
    async aged(ageDays, work) {
      await sql('select ensure_journal_partitions(0, 24)')
      await sql(
        `alter table journal alter column created_at set default now() - interval '${ageDays} days'`,
      )
      await work().finally(() =>
        sql('alter table journal alter column created_at set default now()'),
      )
    },
    async entryAt(index) {
      const [leaf] = await sql<{ entry_id: number }>(
        'select entry_id from audit_leaves where tenant_id = $1 and index = $2',
        [clinic.id, index],
      )
      return leaf?.entry_id as number
    },
  }
}
