/** Where a queue's messages go and what signs them, with its secrets opened. */
import { createSecretKey } from 'node:crypto'
import { type KeyRing, UnreadableError } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { secretPlace } from '../registrations/secrets.ts'
import type { Target } from '../sending/attempt.ts'
import { keyOf } from '../sending/signature.ts'
import type { ClaimedQueue } from './claims.store.ts'

/** Undefined when its secrets can't be opened, or its tenant's keys: nothing goes out unsigned. */
export async function openTarget(
  keyRing: KeyRing,
  tx: TenantTx,
  { url, tenant_id, secrets }: Pick<ClaimedQueue, 'tenant_id' | 'url' | 'secrets'>,
): Promise<Target | undefined> {
  try {
    const tenantKeys = await keyRing.ofTenant(tx, tenant_id)
    const keys = secrets.map(({ id, sealed_secret }) =>
      keyOf(tenantKeys.open(sealed_secret, secretPlace(id)).toString()),
    )
    const known = keys.filter((key) => key !== undefined).map((key) => createSecretKey(key))
    return known.length > 0 ? { url, keys: known } : undefined
  } catch (error) {
    // Sealed with another key, or damaged: what one webhook or tenant has must not hold the others up.
    if (error instanceof UnreadableError) return undefined
    throw error
  }
}
