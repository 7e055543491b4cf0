/**
 * Encrypts the body and the signature of a notification. Uses the platform's key until the tenant is verified, and then
 * the tenant's key. When the tenant's key is destroyed, the fields become unreadable.
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
import type { PaymentReading } from '../payment-facts.ts'

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

export interface SentNotification {
  body: Buffer
  /** The signature header as received; null if the request had no signature header. */
  signature: string | null
}

export interface SealedFields {
  sealed_body: Buffer
  sealed_signature: Buffer | null
}

/** The row and the tenant to which the encrypted fields of a notification are bound. */
export interface SealPlace {
  seal_id: string
  tenant_id: number | null
}

export interface Seals {
  seal(tx: TenantTx, sent: SentNotification, place: SealPlace): Promise<SealedFields>
  /** Decrypts the fields. @throws UnreadableError if the key or the row differs, or a byte was changed */
  open(tx: TenantTx, sealed: SealedFields, place: SealPlace): Promise<SentNotification>
}

export function openSeals(keyRing: KeyRing): Seals {
  let platform: number | undefined
  async function keyTenantOf(tx: TenantTx, { tenant_id }: SealPlace): Promise<number> {
    if (tenant_id !== null) return tenant_id
    platform ??= (await findPlatformTenant(tx))?.id
    if (platform === undefined) throw new Error('the platform tenant is missing')
    return platform
  }
  return {
    async seal(tx, { body, signature }, place) {
      const keys = await keyRing.forWriting(tx, await keyTenantOf(tx, place))
      const places = placesOf(place)
      return {
        sealed_body: keys.seal(body, places.body),
        sealed_signature: signature === null ? null : keys.seal(signature, places.signature),
      }
    },
    async open(tx, { sealed_body, sealed_signature }, place) {
      const keys = await keyRing.ofTenant(tx, await keyTenantOf(tx, place))
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

/** The reading of a notification that could not be decrypted. */
export const DOES_NOT_OPEN: PaymentReading = { is: 'failed', reason: 'does_not_open' }

/** Decrypts a notification. Logs a failure and returns null, so that one notification does not block others. */
export async function openOrNull(
  { seals, log }: { seals: Pick<Seals, 'open'>; log: Logger },
  tx: TenantTx,
  one: SealedFields & SealPlace & { id: number },
): Promise<SentNotification | null> {
  try {
    return await seals.open(tx, one, one)
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    log.warn({ err: error, id: one.id }, 'payment notification cannot be decrypted')
    return null
  }
}
