/** A tenant's log with entries past its retention, and their removal as the nightly job does it. */
import { readdir } from 'node:fs/promises'
import { openFindings } from '../../src/features/audit/offline/index.ts'
import { type PruneDeps, pruneLogs } from '../../src/features/audit/retention/prune.ts'
import { openAuditKeys } from '../../src/features/audit/transparency/audit-key.ts'
import { auditHeads } from '../../src/features/audit/transparency/heads.service.ts'
import { openOutsideHeads } from '../../src/features/audit/transparency/outside-heads.ts'
import { verifySegment } from '../../src/features/audit/verification/verify-segment.ts'
import { openRootSealer } from '../../src/platform/crypto/index.ts'
import { fresh } from '../sessions/users.ts'
import { superadmin } from '../support/clinics.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { ROOT_KEY, rootKeys, type Service } from '../support/service.ts'
import { type LogScene, openLogScene } from './scene.ts'

export interface RetentionScene extends LogScene {
  /** The access token of a superadmin. */
  token: string
  deps: PruneDeps
  archiveFolder: string
  /** Sets the retention of a tenant, by default of the clinic. */
  keepFor(days: unknown, tenantId?: number): ReturnType<Service['call']>
  /** Removes the entries that are past their retention. */
  prune(changes?: Partial<PruneDeps>): Promise<void>
  /** Counts rows. @param from a table, with a condition */
  count(from: string): Promise<number>
  /** Counts the entries of the clinic that are older than 90 days. */
  oldEntries(): Promise<number>
  /** Returns the changes of the orders in the log. */
  orders(): Promise<any[]>
  /** Returns the kinds and places that the background verification finds in the log. */
  foundInBackground(): Promise<object[]>
  /** Makes old entries and young ones. Returns the number of old ones, and the path of a head. */
  makeOldLog(entries?: number): Promise<{ old: number; head: string }>
  /** Returns the names of the archives of the clinic. */
  archives(): Promise<string[]>
}

/** The first leaf of a segment within the old entries of `makeOldLog`. */
const SEGMENT = 256

export async function openRetentionScene(service: Service): Promise<RetentionScene> {
  const { token } = await superadmin(service)
  const scene = await openLogScene(service)
  const archiveFolder = await scratch()
  const { sql } = service.database
  const { db } = service.app
  const { id } = scene.clinic
  const sealer = await openRootSealer(db, rootKeys(ROOT_KEY))
  const keys = openAuditKeys({ db, sealer, publicUrl: 'http://wardkeep.test' } as Parameters<
    typeof openAuditKeys
  >[0])
  const outside = openOutsideHeads(scene.folder, silentLog)
  const deps: PruneDeps = {
    db,
    log: silentLog,
    keys,
    heads: auditHeads({ db, log: silentLog, keys, outside }),
    folder: archiveFolder,
    readers: () => ['audit'],
    minDays: 90,
  }
  const count = async (from: string): Promise<number> => {
    const [row] = await sql<{ count: number }>(`select count(*)::int as count from ${from}`)
    return row?.count ?? 0
  }
  const oldEntries = () =>
    count(`journal where tenant_id = ${id} and created_at < now() - interval '90 days'`)
  return {
    ...scene,
    token,
    deps,
    archiveFolder,
    count,
    oldEntries,
    keepFor: (audit_retention_days, tenantId = id) =>
      service.call('PUT', `/api/admin/tenants/${tenantId}`, {
        token,
        body: { settings: { audit_retention_days } },
      }),
    prune: (changes = {}) => pruneLogs({ ...deps, ...changes }, new AbortController().signal),
    async orders() {
      const rows = await sql<{ changes: any }>(
        `select changes from journal where action = 'audit.pruned' and tenant_id = $1 order by id`,
        [id],
      )
      return rows.map(({ changes }) => changes)
    },
    async foundInBackground() {
      const end = await count(`audit_leaves where tenant_id = ${id} and epoch = 1`)
      const { report } = await db.acrossTenants(async (tx) => {
        const findings = openFindings()
        for (const first of [SEGMENT, 0])
          await verifySegment(
            tx,
            { tenant_id: id, epoch: 1 },
            { first, end, knownSize: 0, coveredFrom: null },
            findings,
          )
        return findings
      }, 'filtered list')
      return report.findings.map(({ kind, index, entry_id }) => ({ kind, index, entry_id }))
    },
    async makeOldLog(entries = 300) {
      await scene.grow(entries, 200)
      const old = await oldEntries()
      await scene.grow(3)
      return { old, head: await scene.keepHead(fresh('head')) }
    },
    async archives() {
      const names = await readdir(archiveFolder)
      return names.filter((name) => name.includes(`audit-${id}-`)).sort()
    },
  }
}
