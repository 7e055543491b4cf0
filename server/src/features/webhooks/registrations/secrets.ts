/** Manages a webhook's secrets: encrypts them at rest, and replaces them without an interruption for receivers. */
import { randomUUID } from 'node:crypto'
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import {
  type KeyRing,
  placeIn,
  type SealedPlace,
  type SealedTable,
  type TenantKeys,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { endLease, scheduleNow } from '../engine/queues.store.ts'
import { signingKeyOf } from '../sending/signature.ts'
import * as store from './secrets.store.ts'

/** How long a replaced secret still signs messages too (decisions §5). */
const SIGNS_ALONG = DAY
/** The maximum number of replaced secrets that still sign. Each adds a signature to the header of every message. */
const MAX_OLD = 9

export const WEBHOOK_SECRETS: SealedTable = {
  table: 'webhook_secrets',
  id: { column: 'id', type: 'uuid' },
  columns: ['sealed_secret'],
}

export const webhookSecretPlace = (id: string): SealedPlace =>
  placeIn(WEBHOOK_SECRETS, 'sealed_secret', id)

/**
 * Decrypts a stored secret and returns its signing key. Returns undefined if the secret is damaged or its encryption
 * key is lost. Messages are then signed only with the webhook's other secrets.
 */
export function openSecret(
  keys: TenantKeys,
  { id, sealed_secret }: Pick<store.SealedSecret, 'id' | 'sealed_secret'>,
): Buffer | undefined {
  try {
    return signingKeyOf(keys.open(sealed_secret, webhookSecretPlace(id)).toString())
  } catch (error) {
    if (error instanceof UnreadableError) return undefined
    throw error
  }
}

interface Owner {
  id: number
  tenant_id: number
}

export interface Secrets {
  /**
   * Makes `secret` the webhook's current secret. The previous secret still signs for a day. Returns false if `secret`
   * is already current. The caller must lock the webhook's row, so that replacements do not overlap.
   */
  replace(tx: TenantTx, webhook: Owner, secret: string): Promise<boolean>
  /** Deletes the replaced secrets, so that only the current secret signs. Returns whether any were deleted. */
  withdrawOld(tx: TenantTx, webhook: Owner): Promise<boolean>
}

export function openSecrets({ keyRing, clock }: { keyRing: KeyRing; clock: Clock }): Secrets {
  return {
    async replace(tx, webhook, secret) {
      const living = await store.livingSecrets(tx, webhook.id, isoAt(clock))
      const keys = await keyRing.forWriting(tx, webhook.tenant_id)
      const opened = living.map((known) => openSecret(keys, known))
      const given = signingKeyOf(secret)
      const same = opened.map((key) => given !== undefined && key?.equals(given))
      const [current] = living
      if (current?.expires_at === null) {
        if (same[0]) return false
        await store.expireSecret(tx, current.id, isoAt(clock, SIGNS_ALONG))
      }
      const old = living.filter((_, index) => !same[index])
      // Deletes the old row of a replaced secret that becomes current again, so that it adds no second signature.
      const spent = [...living.filter((_, index) => same[index]), ...old.slice(MAX_OLD)]
      if (spent.length > 0)
        await store.deleteSecrets(
          tx,
          spent.map(({ id }) => id),
        )
      const id = randomUUID()
      const { tenant_id } = webhook
      const sealed_secret = keys.seal(secret, webhookSecretPlace(id))
      await store.insertSecret(tx, { id, tenant_id, webhook_id: webhook.id, sealed_secret })
      await endLease(tx, webhook.id)
      // Sends the pending deliveries now. The queue was paused because no secret could be decrypted.
      if (living.length > 0 && opened.every((key) => key === undefined))
        await scheduleNow(tx, webhook.id, isoAt(clock))
      return true
    },

    async withdrawOld(tx, webhook) {
      const living = await store.livingSecrets(tx, webhook.id, isoAt(clock))
      const old = living.filter(({ expires_at }) => expires_at !== null)
      if (old.length === 0) return false
      await store.deleteSecrets(
        tx,
        old.map(({ id }) => id),
      )
      await endLease(tx, webhook.id)
      return true
    },
  }
}
