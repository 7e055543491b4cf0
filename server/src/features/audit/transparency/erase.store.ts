/** SQL that erases the personal fields of sealed entries. */
import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Commitments } from '../../../platform/journal/index.ts'
import {
  ANCHORED,
  EPOCH_STARTED,
  ERASED,
  type LeafEntry,
  type LeafSecrets,
  PRUNED,
} from './leaf.ts'
import { tenantIs } from './read-log.store.ts'

/** The entries to erase. */
export type ErasureTarget =
  | { readonly all: true }
  | { readonly entryId: number }
  /** The entries by a user and about the user. */
  | { readonly userId: number }
  /** The entries that contain one of the addresses, by a user of this address or in their changes. */
  | { readonly emails: readonly string[] }

/** A sealed entry that is not erased yet. */
export interface ErasableEntry extends LeafEntry, LeafSecrets {
  epoch: number
  index: number
}

const conditionOf = (target: ErasureTarget): RawBuilder<unknown> => {
  if ('all' in target) return sql`true`
  if ('entryId' in target) return sql`journal.id = ${target.entryId}`
  if ('userId' in target)
    return sql`(journal.user_id = ${target.userId}
      or (journal.resource_type = 'user' and journal.resource_id = ${String(target.userId)}))`
  return sql`(lower(journal.user_email) = any(${target.emails})
    or lower(journal.changes::text) ~ ${target.emails.map(wholeAddress).join('|')})`
}

/** Returns a pattern for an address that is not a part of another one. */
const wholeAddress = (address: string): string =>
  `(?<![a-z0-9._%+-])${address.replace(/[^a-z0-9@]/g, '\\$&')}(?![a-z0-9-]|\\.[a-z0-9])`

/** The entries that verification needs. They have no personal fields, and have to stay readable. */
const EVIDENCE = [
  ERASED,
  PRUNED,
  EPOCH_STARTED,
  ANCHORED,
  'audit.key_rotated',
  'audit.tampering_found',
]

const isErasable = (target: ErasureTarget) =>
  sql`not journal.action = any(${EVIDENCE}::text[]) and ${conditionOf(target)}`

/** The place of a leaf in the logs of a tenant. */
export interface LeafPlace {
  epoch: number
  index: number
}

/** Locks and returns sealed entries of a tenant that are not erased yet, in the order of the log, after a leaf. */
export async function lockErasable(
  tx: TenantTx,
  tenantId: number,
  target: ErasureTarget,
  { after, limit }: { after: LeafPlace; limit: number },
): Promise<ErasableEntry[]> {
  const { rows } = await sql<ErasableEntry>`
    select leaf.epoch, leaf.index, leaf.who_salt, leaf.what_salt, leaf.who, leaf.what,
      journal.id, journal.tenant_id, journal.user_id, journal.user_email, journal.action,
      journal.resource_type, journal.resource_id, journal.changes, journal.ip, journal.user_agent,
      journal.request_id, journal.created_at
    from audit_leaves leaf
    join journal on journal.id = leaf.entry_id and journal.created_at = leaf.created_at
    where leaf.tenant_id = ${tenantId} and (leaf.epoch, leaf.index) > (${after.epoch}, ${after.index})
      and leaf.who is null and ${isErasable(target)}
    order by leaf.epoch, leaf.index limit ${limit}
    for update of leaf`.execute(tx.db)
  return rows
}

const matches = ({ tenantId, target }: { tenantId: number; target: ErasureTarget }) =>
  sql`(${tenantIs(tenantId)} and ${isErasable(target)})`

/** Returns the number of entries that match one of the targets and are not sealed yet. */
export async function countUnsealed(
  tx: TenantTx,
  targets: readonly { tenantId: number; target: ErasureTarget }[],
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::float8 as count from journal
    where (${sql.join(targets.map(matches), sql` or `)})
      and not exists (select from audit_leaves leaf where leaf.entry_id = journal.id)`.execute(
    tx.db,
  )
  return rows[0]?.count ?? 0
}

/** Returns the addresses of a user, in lower case: the current one, and those in the journal. */
export async function listEmails(
  tx: TenantTx,
  tenantId: number,
  userId: number,
): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    select lower(email) as email from users where id = ${userId} and tenant_id = ${tenantId}
    union select lower(user_email) from journal
    where ${tenantIs(tenantId)} and user_id = ${userId} and user_email is not null`.execute(tx.db)
  return rows.map(({ email }) => email)
}

/** Replaces the salts of leaves by their commitments, and erases the fields behind these. */
export async function eraseFields(
  tx: TenantTx,
  tenantId: number,
  entries: readonly (ErasableEntry & { commitments: Commitments })[],
): Promise<void> {
  const epochs = entries.map(({ epoch }) => epoch)
  const indexes = entries.map(({ index }) => index)
  const [who, what] = [
    entries.map(({ commitments }) => commitments.who),
    entries.map(({ commitments }) => commitments.what),
  ]
  await sql`update audit_leaves leaf
    set who_salt = null, what_salt = null, who = erased.who, what = erased.what
    from unnest(${epochs}::int[], ${indexes}::bigint[], ${who}::text[], ${what}::text[])
      as erased (epoch, index, who, what)
    where leaf.tenant_id = ${tenantId} and leaf.epoch = erased.epoch and leaf.index = erased.index`.execute(
    tx.db,
  )
  await sql`select erase_entries(${entries.map(({ id }) => id)}::bigint[])`.execute(tx.db)
}
