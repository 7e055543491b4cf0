/**
 * What of a notification is sealed: its body and its signature. By the platform's key until a tenant is
 * proven, then by the tenant's, so that whoever destroys that key destroys them.
 */
import {
  type KeyRing,
  placeIn,
  type SealedTable,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { findPlatformTenant } from '../../tenants/index.ts'
import type { Reading } from '../payment-facts.ts'

export const PAYMENT_NOTIFICATIONS: SealedTable = {
  table: 'payment_notifications',
  id: { column: 'id', type: 'bigint' },
  row: 'seal_id',
  columns: ['sealed_body', 'sealed_signature'],
}

const placesOf = ({ seal_id }: SealPlace) => ({
  body: placeIn(PAYMENT_NOTIFICATIONS, 'sealed_body', seal_id),
  signature: placeIn(PAYMENT_NOTIFICATIONS, 'sealed_signature', seal_id),
})

/** What the provider has sent. */
export interface Sent {
  body: Buffer
  /** The header as it came; null where there was none. */
  signature: string | null
}

export interface SealedFields {
  sealed_body: Buffer
  sealed_signature: Buffer | null
}

/** Where a notification's fields are sealed to. */
export interface SealPlace {
  seal_id: string
  tenant_id: number | null
}

export interface Seals {
  seal(tx: TenantTx, sent: Sent, place: SealPlace): Promise<SealedFields>
  /** @throws UnreadableError when the key or the place differs, or a byte was changed */
  open(tx: TenantTx, sealed: SealedFields, place: SealPlace): Promise<Sent>
}

export function openSeals(keyRing: KeyRing): Seals {
  let platform: number | undefined
  async function keeperOf(tx: TenantTx, { tenant_id }: SealPlace): Promise<number> {
    if (tenant_id !== null) return tenant_id
    platform ??= (await findPlatformTenant(tx))?.id
    if (platform === undefined) throw new Error('there is no platform tenant')
    return platform
  }
  return {
    async seal(tx, { body, signature }, place) {
      const keys = await keyRing.forWriting(tx, await keeperOf(tx, place))
      const places = placesOf(place)
      return {
        sealed_body: keys.seal(body, places.body),
        sealed_signature: signature === null ? null : keys.seal(signature, places.signature),
      }
    },
    async open(tx, { sealed_body, sealed_signature }, place) {
      const keys = await keyRing.ofTenant(tx, await keeperOf(tx, place))
      const places = placesOf(place)
      return {
        body: keys.open(sealed_body, places.body),
        signature:
          sealed_signature === null
            ? null
            : keys.open(sealed_signature, places.signature).toString(),
      }
    },
  }
}

/** What one that does not open says. */
export const DOES_NOT_OPEN: Reading = { is: 'failed', reason: 'does_not_open' }

/** Opens a notification; null for one that does not open, which the log tells: it must not hold others up. */
export async function openOrNull(
  { seals, log }: { seals: Pick<Seals, 'open'>; log: Logger },
  tx: TenantTx,
  one: SealedFields & SealPlace & { id: number },
): Promise<Sent | null> {
  try {
    return await seals.open(tx, one, one)
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    log.warn({ err: error, id: one.id }, 'a notification does not open')
    return null
  }
}
