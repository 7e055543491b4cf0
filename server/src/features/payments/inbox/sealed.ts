/**
 * What of a notification is sealed: its body and its signature. By the platform's key until a tenant is
 * proven, then by the tenant's, so that whoever destroys that key destroys them.
 */
import type { KeyRing } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { findPlatformTenant } from '../../tenants/index.ts'

/**
 * The sealed columns, for whoever seals them anew under another key: the place of each is
 * `<table>.<column>:<seal_id>`, the key that of `tenant_id`, or the platform tenant's where that is null.
 */
export const SEALED = {
  payment_notifications: { body: 'sealed_body', signature: 'sealed_signature' },
} as const

const placeOf = (field: 'body' | 'signature', sealId: string) =>
  `payment_notifications.${SEALED.payment_notifications[field]}:${sealId}`

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
  /** @throws Error when the key or the place differs, or a byte was changed */
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
      const keeper = await keeperOf(tx, place)
      const seal = (bytes: Buffer, field: 'body' | 'signature') =>
        keyRing.seal(tx, keeper, bytes, placeOf(field, place.seal_id))
      return {
        sealed_body: await seal(body, 'body'),
        sealed_signature:
          signature === null ? null : await seal(Buffer.from(signature), 'signature'),
      }
    },
    async open(tx, { sealed_body, sealed_signature }, place) {
      const keeper = await keeperOf(tx, place)
      const open = (bytes: Buffer, field: 'body' | 'signature') =>
        keyRing.open(tx, keeper, bytes, placeOf(field, place.seal_id))
      return {
        body: await open(sealed_body, 'body'),
        signature:
          sealed_signature === null ? null : String(await open(sealed_signature, 'signature')),
      }
    },
  }
}
