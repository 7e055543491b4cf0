import type { Generated } from 'kysely'
import type { RestoreRules } from '../../../platform/feature/restore-rule.ts'
import type { FindingKind } from '../offline/index.ts'
import type { LeafMark } from './leaf.ts'

export interface AuditLogsTable {
  /** The tenant, or 0 for entries without one. */
  tenant_id: number
  epoch: number
  size: Generated<number>
  head_size: Generated<number>
  head_root: Buffer | null
  checkpoint: string | null
  /** The size in the last anchor. */
  anchored_size: Generated<number>
  /** When the next epoch began, or null for the current log of the tenant. */
  ended_at: Generated<string | null>
  /** The number of leaves at the beginning whose entries were removed. */
  pruned_size: Generated<number>
  /** Why the last attempt to remove entries failed, and since when attempts fail. */
  prune_failure: string | null
  prune_failing_since: string | null
}

export interface AuditLeavesTable {
  tenant_id: number
  epoch: number
  index: number
  entry_id: number
  created_at: string
  /** The salts of the commitments. Null after the personal fields were erased. */
  who_salt: Buffer | null
  what_salt: Buffer | null
  /** The commitments after the personal fields were erased. Null before. */
  who: Generated<string | null>
  what: Generated<string | null>
  mark: LeafMark
}

export interface AuditTilesTable {
  tenant_id: number
  epoch: number
  level: number
  index: number
  hashes: Buffer
}

export interface AuditKeysTable {
  id: string
  name: string
  public_key: Buffer
  /** Null after a lost root key. */
  sealed_private_key: Buffer | null
  created_at: Generated<string>
  retired_at: string | null
}

/** The state of a witness of a log. */
export interface AuditWitnessesTable {
  origin: string
  /** The verifier key of the witness. */
  key: string
  size: Generated<number>
  checkpoint: string | null
  cosigned_at: string | null
  failure: string | null
  failing_since: string | null
  /** Whether the witness knows another history of the log. */
  contradicts: Generated<boolean>
}

export interface AuditVerificationsTable {
  tenant_id: number
  epoch: number
  /** The number of leaves that the running pass verifies, or null. */
  pass_size: number | null
  /** The leaves from this index on are verified in the running pass. */
  next_index: Generated<number>
  /** The journal from this time on was compared with the leaves in the running pass. */
  covered_from: string | null
  pass_started_at: Generated<string>
  is_requested: Generated<boolean>
  /** The number of findings in the running pass that have a journal entry of their own. */
  listed: Generated<number>
  /** The number of new findings in the running pass that have none. */
  counted: Generated<number>
  is_mailed: Generated<boolean>
  verified_size: Generated<number>
  verified_at: string | null
}

export interface AuditFindingsTable {
  id: Generated<number>
  tenant_id: number
  epoch: number
  kind: FindingKind
  index: number | null
  entry_id: number | null
  detail: string
  found_at: Generated<string>
  last_found_at: Generated<string>
  gone_at: string | null
}

// A restored copy has another key and so another name. It cannot sign in the name of the installation it came from.
export const TRANSPARENCY_TABLES = {
  audit_logs: 'kept',
  audit_leaves: 'kept',
  audit_tiles: 'kept',
  audit_keys: 'never touched',
  audit_witnesses: 'never touched',
  audit_verifications: 'kept',
  audit_findings: 'kept',
} as const satisfies RestoreRules

declare module '../../../platform/db/database.ts' {
  interface Database {
    audit_logs: AuditLogsTable
    audit_leaves: AuditLeavesTable
    audit_tiles: AuditTilesTable
    audit_keys: AuditKeysTable
    audit_witnesses: AuditWitnessesTable
    audit_verifications: AuditVerificationsTable
    audit_findings: AuditFindingsTable
  }
}
