/**
 * The marks of journal entries, which show that the service wrote them (ADR 0042). A person who controls the database
 * can insert a plausible entry, but cannot compute its mark without the root key.
 */
import { createHmac, hash, type KeyObject, randomFillSync, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Action } from './actions.ts'
import type { JournalTable } from './journal.table.ts'

/** The random bytes without which nobody can guess the fields behind a commitment. */
export interface Salts {
  readonly who: Buffer
  readonly what: Buffer
}

export const SALT_BYTES = 32

/** The columns of a mark. All are null in entries of the older release. */
export const MARK_COLUMNS = ['who_salt', 'what_salt', 'mac'] as const

export type Mark = Pick<JournalTable, (typeof MARK_COLUMNS)[number]>

/** The columns of an entry from which its mark is computed. The database generates the others. */
export type MarkedColumns = Pick<
  JournalTable,
  | 'tenant_id'
  | 'user_id'
  | 'user_email'
  | 'action'
  | 'resource_type'
  | 'resource_id'
  | 'changes'
  | 'ip'
  | 'user_agent'
  | 'request_id'
>

/** Hashes that stand for fields that are not shown to everybody. */
export interface Commitments {
  readonly who: string
  readonly what: string
}

/** The fields behind the commitment `who`. */
export type WhoFields = Pick<MarkedColumns, 'user_email' | 'ip' | 'user_agent' | 'request_id'>

/** Returns the commitments to the personal fields and to the changes of an entry. */
export const commitmentsOf = (entry: MarkedColumns, { who, what }: Salts): Commitments => ({
  who: whoCommitment(entry, who),
  what: whatCommitment(entry, what),
})

/** Returns the commitment to the fields that identify the user: the hash of the salt and their canonical JSON. */
export const whoCommitment = (
  { ip, request_id, user_agent, user_email }: WhoFields,
  salt: Buffer,
): string =>
  commitment(
    salt,
    `{"ip":${json(ip)},"request_id":${json(request_id)},"user_agent":${json(user_agent)},"user_email":${json(user_email)}}`,
  )

/** Returns the commitment to the changes: the hash of the salt and their canonical JSON. */
export const whatCommitment = ({ changes }: Pick<MarkedColumns, 'changes'>, salt: Buffer): string =>
  commitment(salt, `{"changes":${canonicalChanges(changes)}}`)

const json = (value: unknown): string => (value === null ? 'null' : JSON.stringify(value))

/**
 * Replaces numbers beyond the range of IEEE 754 by null. The service writes none, but a row that contains one must not
 * stop the sealing.
 */
function canonicalChanges(changes: unknown): string {
  try {
    return canonicalJson(changes)
  } catch {
    return canonicalJson(JSON.parse(JSON.stringify(changes)))
  }
}

/** The input of a commitment. Reused, because allocating it costs more than the hash. */
const INPUT = Buffer.alloc(8_192)

/** Returns the SHA-256 hash of a salt and a text, in base64. */
function commitment(salt: Buffer, text: string): string {
  // UTF-8 has at most three bytes for each UTF-16 code unit.
  if (salt.length + 3 * text.length > INPUT.length)
    return hash('sha256', Buffer.concat([salt, Buffer.from(text)]), 'base64')
  INPUT.set(salt)
  const end = salt.length + INPUT.write(text, salt.length)
  return hash('sha256', INPUT.subarray(0, end), 'base64')
}

/** Returns the mark of a new entry. @param entry with its changes as JSON values */
export function newMark(key: KeyObject, entry: MarkedColumns): Mark {
  const salts = newSalts()
  const mac = macOf(key, entry, commitmentsOf(entry, salts))
  return { who_salt: salts.who, what_salt: salts.what, mac }
}

/** Returns whether the MAC of an entry is the service's. @param commitments those with the salts of the mark */
export const isMarkedBy = (
  key: KeyObject,
  entry: MarkedColumns & Mark,
  commitments: Commitments,
): boolean => {
  const expected = macOf(key, entry, commitments)
  return entry.mac?.length === expected.length && timingSafeEqual(entry.mac, expected)
}

/** Fields that the inserting statement looks up, so that they are unknown when the mark is computed. */
const LOOKED_UP: Partial<Record<Action, readonly (keyof MarkedColumns)[]>> = {
  'auth.token_refreshed': ['user_id', 'resource_id'],
}

/** Returns the MAC of an entry (HMAC-SHA-256). The commitments include the salts and the fields behind them. */
function macOf(key: KeyObject, entry: MarkedColumns, { who, what }: Commitments): Buffer {
  const lookedUp = LOOKED_UP[entry.action as Action] ?? []
  const { tenant_id, user_id, action, resource_type, resource_id } = entry
  const fields = [
    1,
    action,
    tenant_id,
    lookedUp.includes('user_id') ? null : user_id,
    resource_type,
    lookedUp.includes('resource_id') ? null : resource_id,
    who,
    what,
  ]
  return createHmac('sha256', key).update(JSON.stringify(fields)).digest()
}

/** Random bytes, generated in batches because each call costs more than the bytes. */
const POOL = Buffer.alloc(512 * SALT_BYTES)
let used = POOL.length

/** Returns the salts of a new entry. */
export const newSalts = (): Salts => ({ who: newSalt(), what: newSalt() })

function newSalt(): Buffer {
  if (used === POOL.length) {
    randomFillSync(POOL)
    used = 0
  }
  used += SALT_BYTES
  // A copy, because the pool is filled again while the salt is still in use.
  return Buffer.from(POOL.subarray(used - SALT_BYTES, used))
}
