/** A webhook's secrets: sealed at rest, and changed so that receivers never miss a beat. */
import { randomUUID } from 'node:crypto'
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import {
  type KeyRing,
  type Place,
  placeIn,
  type SealedTable,
  type TenantKeys,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { endLease, scheduleNow } from '../engine/queues.store.ts'
import { keyOf } from '../sending/signature.ts'
import * as store from './secrets.store.ts'

/** How long a replaced secret signs along (decisions §5). */
const SIGNS_ALONG = DAY
/** Each more is one more signature in every message's header. */
const MAX_OLD = 9

export const WEBHOOK_SECRETS: SealedTable = {
  table: 'webhook_secrets',
  id: { column: 'id', type: 'uuid' },
  columns: ['sealed_secret'],
  formerly: { sealed_secret: 'webhook_secrets.secret' },
}

export const secretPlace = (id: string): Place => placeIn(WEBHOOK_SECRETS, 'sealed_secret', id)

/**
 * The key in a kept secret; undefined where that cannot be opened: sealed with a key that is lost, or damaged.
 * Such a secret signs nothing, and keeps no other from signing.
 */
export function openSecret(
  keys: TenantKeys,
  { id, sealed_secret }: Pick<store.SealedSecret, 'id' | 'sealed_secret'>,
): Buffer | undefined {
  try {
    return keyOf(keys.open(sealed_secret, secretPlace(id)).toString())
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
   * Makes `secret` the current one; the one before signs along for a day. Returns whether that
   * changed anything. The caller holds the webhook's row, so that two do not at once.
   */
  replace(tx: TenantTx, webhook: Owner, secret: string): Promise<boolean>
  /** Has the current secret sign alone from now on. Returns whether an older one did. */
  withdrawOld(tx: TenantTx, webhook: Owner): Promise<boolean>
}

export function openSecrets({ keyRing, clock }: { keyRing: KeyRing; clock: Clock }): Secrets {
  return {
    async replace(tx, webhook, secret) {
      const living = await store.livingSecrets(tx, webhook.id, isoAt(clock))
      const keys = await keyRing.forWriting(tx, webhook.tenant_id)
      const opened = living.map((known) => openSecret(keys, known))
      const given = keyOf(secret)
      const same = opened.map((key) => given !== undefined && key?.equals(given))
      const [current] = living
      if (current?.expires_at === null) {
        if (same[0]) return false
        await store.expireSecret(tx, current.id, isoAt(clock, SIGNS_ALONG))
      }
      const old = living.filter((_, index) => !same[index])
      // An old one that comes back is the current one again, and need not sign twice.
      const spent = [...living.filter((_, index) => same[index]), ...old.slice(MAX_OLD)]
      if (spent.length > 0)
        await store.deleteSecrets(
          tx,
          spent.map(({ id }) => id),
        )
      const id = randomUUID()
      const { tenant_id } = webhook
      const sealed_secret = keys.seal(secret, secretPlace(id))
      await store.insertSecret(tx, { id, tenant_id, webhook_id: webhook.id, sealed_secret })
      await endLease(tx, webhook.id)
      // Nothing could be signed, so the queue is paused: what waits in it goes out now.
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
