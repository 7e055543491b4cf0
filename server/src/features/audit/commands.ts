/** The parts of the `wardkeep audit` commands that need the database. */
import { instantOf } from '../../lib/instant.ts'
import { writeVerifierKey } from '../../lib/signed-note.ts'
import { spanOf } from '../../lib/span.ts'
import type { Sealer } from '../../platform/crypto/index.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { type Kept, Uncheckable, type VerificationReport } from './offline/index.ts'
import { openAuditKeys } from './transparency/audit-key.ts'
import { type ErasureReport, type ErasureRequest, eraseEntries } from './transparency/erase.ts'
import { exportLogs } from './transparency/export-log.ts'
import { auditHeads } from './transparency/heads.service.ts'
import { openOutsideHeads } from './transparency/outside-heads.ts'
import { verifyStoredLogs } from './transparency/verify-log.ts'

interface AuditCommandDeps {
  db: Scopes
  log: Logger
  sealer: Sealer
  publicUrl: string
  /** The folder of the service's data. */
  dataDir: string
}

/** The export that was requested, with dates or times in any format of the API. */
export interface RequestedExport {
  out: string
  tenantId?: number | undefined
  from?: string | undefined
  to?: string | undefined
}

/** Verifier keys. */
export interface SigningKeys {
  current: string
  /** The former keys, with the time until which they sign (ISO 8601). */
  former: { key: string; until: string }[]
}

export interface AuditCommands {
  /** Returns the verifier key of the heads, and the former keys that sign along. Creates the key if there is none. */
  keys(): Promise<SigningKeys>
  /** Replaces the signing key, and signs all heads with the new one and the former ones. */
  rotateKey(): Promise<SigningKeys>
  /** Exports logs. Returns the number of logs and entries. */
  export(requested: RequestedExport): Promise<{ logs: number; entries: number }>
  /** Erases the personal fields of entries. */
  erase(request: ErasureRequest): Promise<ErasureReport>
}

export function auditCommands(deps: AuditCommandDeps): AuditCommands {
  const auditKeys = openAuditKeys(deps)
  const outside = openOutsideHeads(deps.dataDir, deps.log)
  const heads = auditHeads({ ...deps, keys: auditKeys, outside })

  async function keys(): Promise<SigningKeys> {
    await auditKeys.prepare()
    const [current, ...former] = await deps.db.acrossTenants(auditKeys.signers, 'read')
    return {
      current: writeVerifierKey(current),
      former: former.map((one) => ({ key: writeVerifierKey(one), until: one.signsUntil ?? '' })),
    }
  }

  return {
    keys,
    erase: (request) => eraseEntries(deps.db, request),
    async rotateKey() {
      await auditKeys.rotate()
      await heads.signAll()
      return keys()
    },
    async export({ out, tenantId, from, to }) {
      const span = spanOf(dateOf(from, '--from'), dateOf(to, '--to'), () => {
        throw new Uncheckable('--from is after --to.')
      })
      const logs = await heads.export(tenantId)
      return { logs: logs.length, entries: await exportLogs(deps.db, logs, { out, span }) }
    },
  }
}

/** @throws Uncheckable for text that is not a date */
function dateOf(text: string | undefined, option: string): string | undefined {
  if (text !== undefined && Number.isNaN(instantOf(text)))
    throw new Uncheckable(`${option}: not a date: ${text}. Pass a date such as 2026-11-21.`)
  return text
}

/** Verifies all logs in the database. Only reads. */
export const verifyAuditLogs = (db: Scopes, kept: Kept): Promise<VerificationReport> =>
  verifyStoredLogs(db, kept)
