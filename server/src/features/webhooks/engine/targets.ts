/** The target of a queue's messages: the URL, and the decrypted keys with which messages are signed. */
import { createSecretKey } from 'node:crypto'
import { type KeyRing, UnreadableError } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { openSecret } from '../registrations/secrets.ts'
import type { Target } from '../sending/attempt.ts'
import type { ClaimedQueue } from './claims.store.ts'

/**
 * Returns the target of a queue, with the secrets that can be decrypted. Returns undefined if no secret can be
 * decrypted, or if the tenant's keys are unreadable. No message is then sent, because it would be unsigned.
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
    // A tenant's key that is damaged or wrapped with an unknown key must not block other tenants.
    if (error instanceof UnreadableError) return undefined
    throw error
  }
}
