/** Keeps each former root key while a backup exists that needs it (ADR 0028). */

import { destroyFormerRoots, type RootSealed, type Sealer } from '../../../platform/crypto/index.ts'
import { lockUntilEnd, type Scopes } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { eventTenantId } from '../../tenants/index.ts'
import { backupIdOf } from '../file/names.ts'
import type { Store } from '../stores/store.ts'
import { rootKeyNeed } from './schedule.store.ts'

export interface RootKeysDeps {
  db: Scopes
  store: Store
  log: Logger
  sealer: Sealer
  rootSealed: readonly RootSealed[]
}

/** Destroys the former root keys that no backup needs; none while the store contains an unknown backup. */
export async function destroyUnneededRoots(deps: RootKeysDeps): Promise<void> {
  const { db, store, log, sealer, rootSealed } = deps
  const stored = (await store.list()).flatMap(({ name }) => backupIdOf(name) ?? [])
  const destroyed = await db.acrossTenants(async (tx) => {
    // Registering a backup takes the same lock, so none can be registered between this check and the deletion.
    await lockUntilEnd(tx, 'rootKey')
    const { oldest: before, has_unknown } = await rootKeyNeed(tx, stored)
    if (has_unknown) return []
    const gone = await destroyFormerRoots(tx, { sealer, sealed: rootSealed, before })
    const tenant_id = await eventTenantId(tx)
    for (const root_key of gone)
      await append(tx, SYSTEM, {
        action: 'encryption.root_key_destroyed',
        tenant_id,
        resource_type: 'encryption',
        resource_id: root_key,
        changes: { root_key, backups_since: before },
      })
    return gone
  })
  for (const root_key of destroyed)
    log.info({ root_key }, 'previous root key destroyed, because no backup needs it')
}
