/** The content of a leaf: a journal entry as canonical JSON, whose personal fields are commitments (ADR 0042). */
import {
  type Commitments,
  commitmentsOf,
  type MarkedColumns,
} from '../../../platform/journal/index.ts'

/** The name of the sealer as a consumer of the journal. */
export const SEALER_NAME = 'audit'

/** The action of the entry with the sizes and roots of logs. */
export const ANCHORED = 'audit.anchored'

/** The action of the first entry of an epoch, which names the last known head of the epoch before. */
export const EPOCH_STARTED = 'audit.epoch_started'

/** The action of the order to erase the personal fields of entries. */
export const ERASED = 'audit.erased'

/** The action of the order to remove the entries of leaves at the beginning of a log. */
export const PRUNED = 'audit.pruned'

/** The salts of a leaf, or its commitments after the personal fields were erased. */
export interface LeafSecrets {
  who_salt: Buffer | null
  what_salt: Buffer | null
  who: string | null
  what: string | null
}

/** Returns the commitments of a stored leaf. Returns undefined if neither they nor the salts are known. */
export function storedCommitments(
  entry: LeafEntry,
  { who_salt, what_salt, who, what }: LeafSecrets,
): Commitments | undefined {
  if (who_salt && what_salt) return commitmentsOf(entry, { who: who_salt, what: what_salt })
  return who !== null && what !== null ? { who, what } : undefined
}

/**
 * Whether the service wrote an entry. Only entries of the older release may be `none`, up to one day after the upgrade.
 */
export type LeafMark = 'ok' | 'none' | 'bad'

/** The fields of an entry from which its leaf is computed. */
export type LeafEntry = MarkedColumns & { id: number; created_at: string }

/**
 * Returns the content of the leaf of an entry.
 * @throws TypeError if a text is not valid Unicode, which no entry in the database contains
 */
export function leafContent(entry: LeafEntry, { who, what }: Commitments, mark: string): string {
  const { id, tenant_id, user_id, action, resource_type, resource_id, created_at } = entry
  // The members in the order of RFC 8785. A general canonical form takes three times as long.
  return (
    `{"action":${json(action)},"created_at":${json(created_at)},"id":${json(id)},"mark":${json(mark)},` +
    `"resource_id":${json(resource_id)},"resource_type":${json(resource_type)},` +
    `"tenant_id":${json(tenant_id)},"user_id":${json(user_id)},"v":1,"what":"${what}","who":"${who}"}`
  )
}

const json = (value: unknown): string => (value === null ? 'null' : JSON.stringify(value))
