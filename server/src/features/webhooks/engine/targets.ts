/** Where a queue's messages go and what signs them, with its secrets opened. */
import { createSecretKey } from 'node:crypto'
import { type KeyRing, UnreadableError } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { openSecret } from '../registrations/secrets.ts'
import type { Target } from '../sending/attempt.ts'
import type { ClaimedQueue } from './claims.store.ts'

/**
 * Those of its secrets that do not open are left out. Undefined when none does, or its tenant's keys do not:
 * nothing goes out unsigned.
 */
export async function openTarget(
  keyRing: KeyRing,
  tx: TenantTx,
  { url, tenant_id, secrets }: Pick<ClaimedQueue, 'tenant_id' | 'url' | 'secrets'>,
): Promise<Target | undefined> {
  try {
    const tenantKeys = await keyRing.ofTenant(tx, tenant_id)
    const keys = secrets
      .map((secret) => openSecret(tenantKeys, secret))
      .filter((key) => key !== undefined)
      .map((key) => createSecretKey(key))
    return keys.length > 0 ? { url, keys } : undefined
  } catch (error) {
    // Wrapped with another key, or damaged: what one tenant has must not hold the others up.
    if (error instanceof UnreadableError) return undefined
    throw error
  }
}
