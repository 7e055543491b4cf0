/** Former root keys are kept for as long as there is a backup from their time (ADR 0028). */

import { destroyFormerRoots, type RootSealed, type Sealer } from '../../../platform/crypto/index.ts'
import { lockUntilEnd, type Scopes } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { findPlatformTenant } from '../../tenants/index.ts'
import { idOf } from '../file/names.ts'
import type { Store } from '../stores/store.ts'
import { rootKeyNeed } from './schedule.store.ts'

export interface RootKeysDeps {
  db: Scopes
  store: Store
  log: Logger
  sealer: Sealer
  /** All that the root key seals. */
  rootSealed: readonly RootSealed[]
}

/**
 * Destroys the former root keys that no backup needs. Destroys none while the store holds a backup that the
 * database does not know.
 */
export async function destroyUnneededRoots(deps: RootKeysDeps): Promise<void> {
  const { db, store, log, sealer, rootSealed } = deps
  const stored = (await store.list()).flatMap(({ name }) => idOf(name) ?? [])
  const destroyed = await db.acrossTenants(async (tx) => {
    // Adoption takes the same lock, so no backup appears between the decision and the deletion.
    await lockUntilEnd(tx, 'rootKey')
    const { oldest: before, has_unknown } = await rootKeyNeed(tx, stored)
    if (has_unknown) return []
    const gone = await destroyFormerRoots(tx, { sealer, sealed: rootSealed, before })
    // The platform's, whose webhooks are to hear of it.
    const platform = await findPlatformTenant(tx)
    for (const root_key of gone)
      await append(tx, SYSTEM, {
        action: 'encryption.root_key_destroyed',
        tenant_id: platform?.id ?? null,
        resource_type: 'encryption',
        resource_id: root_key,
        changes: { root_key, backups_since: before },
      })
    return gone
  })
  for (const root_key of destroyed)
    log.info({ root_key }, 'a former root key is destroyed: no backup is left from its time')
}
