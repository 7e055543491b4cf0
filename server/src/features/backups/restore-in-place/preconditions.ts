/** Checks whether a restore in place is possible. If not, throws an error with a message for the user. */

import type { PgConnection } from '../../../platform/db/index.ts'
import type { DifferingSafeguards } from '../../../platform/schema/repairs/index.ts'
import { isAddressOfOther, keptAccounts } from '../../users/index.ts'
import { installationOf, schemaOf } from '../create/snapshot.store.ts'
import { isBeingPurged } from '../erase/erase.store.ts'
import { UnreadableFile } from '../file/age.ts'
import type { Header } from '../file/format.ts'
import type { Job } from '../work/work.store.ts'
import type { RestoreOptions } from './outcome.ts'
import { setRole } from './transaction.store.ts'

/** Thrown when a restore is refused before it has changed anything. */
export class RefusedError extends Error {}

/** The maximum number of safeguards in the message. The self-healing checks list all of them. */
const MAX_NAMED = 5

/**
 * Refuses a restore if the constraints, triggers or grants of the database differ from its schema. For example, a
 * disabled trigger checks no references, and an extra grant could expose rows to a tenant.
 * @param client a connection in a transaction
 * @throws RefusedError if any safeguard differs
 */
export async function requireSafeguards(
  client: PgConnection,
  differing: DifferingSafeguards,
): Promise<void> {
  const subjects = await differing(client)
  if (subjects.length === 0) return
  const more = subjects.length > MAX_NAMED ? ` and ${subjects.length - MAX_NAMED} more` : ''
  throw new RefusedError(
    `these safeguards of the database differ from this release: ${subjects.slice(0, MAX_NAMED).join(', ')}${more}. Repair them first, as the runbook schema-drift.md describes`,
  )
}

/**
 * Refuses a backup of another installation or tenant, or an incompatible release. Returns whether the schema of the
 * backup is current or older.
 * @throws RefusedError, UnreadableFile if the file contains another backup
 */
export async function requireCompatible(
  client: PgConnection,
  header: Header,
  job: Job,
  tenantId: number | null,
): Promise<'current' | 'older'> {
  if (header.backup_id !== job.backup_id || header.type !== job.type)
    throw new UnreadableFile('the file contains another backup than the one in its name')
  if (header.installation !== (await installationOf(client)))
    throw new RefusedError(
      'the backup belongs to another installation. Restore it into an empty database with wardkeep backup restore',
    )
  const now = await schemaOf(client)
  if (header.schema_version > now.schema_version)
    throw new RefusedError(
      `the backup has schema version ${header.schema_version}, but this release only supports up to ${now.schema_version}. Install the newer release first`,
    )
  const then = now.migrations.filter(({ version }) => version <= header.schema_version)
  if (JSON.stringify(header.migrations) !== JSON.stringify(then))
    throw new RefusedError(
      'the backup was created by a release with different migrations. Restore it into an empty database with that release',
    )
  if (header.type === 'tenant' && header.tenant_id !== tenantId)
    throw new RefusedError('the backup belongs to another tenant')
  return header.schema_version === now.schema_version ? 'current' : 'older'
}

/**
 * Refuses restores that cannot succeed. Runs after staging and before maintenance mode, so that a refusal causes no
 * downtime.
 * @throws RefusedError
 */
export async function requirePossible(
  client: PgConnection,
  { actor }: Job,
  { tenant_id }: RestoreOptions,
): Promise<void> {
  await client.query('begin read only')
  // Forced row-level security may hide rows even from the owner of the tables.
  await setRole(client, 'platform', tenant_id)
  if (tenant_id !== null && (await isBeingPurged(client, tenant_id)))
    throw new RefusedError('the tenant is being purged and cannot be restored from a backup')
  const kept = await keptAccounts(client, actor.user_id, tenant_id)
  // Two accounts in one tenant cannot have the same e-mail address.
  if (await isAddressOfOther(client, kept))
    throw new RefusedError(
      'in the backup, an account that was deleted later has your e-mail address, or that of another superadmin. Ask another superadmin to start the restore',
    )
  await client.query('rollback')
}
