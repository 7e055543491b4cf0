/** The keys for access tokens. One key signs. A retired key verifies until its last token has expired. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importJWK,
} from 'jose'
import { type Clock, HOUR, isoAt, SECOND } from '../../../lib/clock.ts'
import {
  mustOpen,
  type RootSealed,
  rootPlace,
  type Sealer,
} from '../../../platform/crypto/index.ts'
import type { Changes, Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { JsonWebKeySet } from './signing-keys.schema.ts'
import * as store from './signing-keys.store.ts'

export const ALGORITHM = 'EdDSA'
/**
 * How long a retired key still verifies. This is much longer than the lifetime of an access token. A node that has
 * failed to reload the keys signs with the retired key for up to an hour, until its next reload.
 */
const VERIFIES_FOR = 2 * HOUR
/** The minimum time between two reloads caused by an unknown `kid`. */
const REREAD_AFTER = SECOND

export interface SigningKeys {
  signer(): { kid: string; key: KeyObject }
  /** Returns the public key. Reloads the keys for an unknown `kid`, which another node may have created. */
  verifier(kid: string): Promise<CryptoKey | undefined>
  /** Returns whether this node knows the key and still accepts its signatures. */
  verifies(kid: string): boolean
  jwks(): JsonWebKeySet
  /** Creates a new signing key and retires the previous one. If `revokes`, retired keys stop verifying immediately. */
  rotate(revokes?: boolean): Promise<void>
  /** Rotates the signing key if it is older than `maxAgeMs`, once for all nodes. Reloads the keys in any case. */
  rotateWhenOlder(maxAgeMs: number): Promise<void>
}

interface Loaded {
  kid: string
  createdAt: number
  /** When the key stops verifying, in milliseconds since the epoch. Infinite for the signing key. */
  verifiesUntil: number
  publicKey: CryptoKey
  jwk: JsonWebKeySet['keys'][number]
}

export async function openSigningKeys(
  db: Scopes,
  changes: Changes,
  sealer: Sealer,
  clock: Clock,
  log: Logger,
): Promise<SigningKeys> {
  let keys = new Map<string, Loaded>()
  let signing: ReturnType<SigningKeys['signer']> | undefined
  let readAt = Number.NEGATIVE_INFINITY

  let reading: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  /**
   * Reloads the keys. Only one read runs at a time, because the older of two concurrent reads could arrive last.
   * Callers share the next read that has not started, so that its result includes everything committed before the call.
   */
  function load(): Promise<void> {
    const begin = () => {
      next = undefined
      reading = read()
      return reading
    }
    next ??= reading.then(begin, begin)
    return next
  }

  async function read(): Promise<void> {
    readAt = clock.now()
    const since = isoAt(clock, -VERIFIES_FOR)
    const rows = await db.acrossTenants((tx) => store.listSigningKeys(tx, since), 'read')
    const loaded = await Promise.all(rows.map(publicPart))
    const newest = rows.find((row) => row.retired_at === null)
    const signer = newest && signing?.kid !== newest.kid ? openPrivate(newest) : signing
    keys = new Map(loaded.map((key) => [key.kid, key]))
    signing = signer
  }

  function verifying(kid: string): Loaded | undefined {
    const key = keys.get(kid)
    return key && key.verifiesUntil > clock.now() ? key : undefined
  }

  function openPrivate(row: store.SigningKeyRow) {
    const opened = mustOpen(() => sealer.open(row.sealed_private_key, placeOf(row.kid)))
    return { kid: row.kid, key: createPrivateKey(opened) }
  }

  async function add(tx: TenantTx): Promise<boolean> {
    const pair = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true })
    const public_jwk = await exportJWK(pair.publicKey)
    const kid = (await calculateJwkThumbprint(public_jwk)).slice(0, 16)
    const sealed = sealer.seal(await exportPKCS8(pair.privateKey), placeOf(kid))
    const added = await store.insertKey(tx, {
      kid,
      public_jwk: JSON.stringify(public_jwk),
      sealed_private_key: sealed,
      created_at: isoAt(clock),
    })
    if (added) {
      tx.invalidate('keys')
      await append(tx, SYSTEM, {
        action: 'auth.key_rotated',
        tenant_id: null,
        resource_type: 'signing_key',
        resource_id: kid,
      })
    }
    return added
  }

  await load()
  if (!signing) {
    await db.acrossTenants(add)
    await load()
  }
  changes.subscribe((topic) => {
    if (topic === 'keys' || topic === null) void canFail(load(), 'reload of the signing keys', log)
  })

  return {
    signer() {
      if (!signing) throw new Error('no active signing key; one is created on startup')
      return signing
    },
    async verifier(kid) {
      if (!keys.has(kid) && clock.now() - readAt >= REREAD_AFTER) await load()
      return verifying(kid)?.publicKey
    },
    verifies: (kid) => verifying(kid) !== undefined,
    jwks: () => ({
      keys: [...keys.values()]
        .filter((key) => key.verifiesUntil > clock.now())
        .map((key) => key.jwk),
    }),
    async rotate(revokes = false) {
      await db.acrossTenants(async (tx) => {
        await store.retireKey(tx, isoAt(clock))
        if (revokes) {
          await store.deleteRetiredSigningKeys(tx)
          // Notifies all nodes that keys were deleted. `add` sends no notification if another node has created the key.
          tx.invalidate('keys')
        }
        await add(tx)
      })
      await load()
    },
    async rotateWhenOlder(maxAgeMs) {
      await db.acrossTenants(async (tx) => {
        if (await store.retireKey(tx, isoAt(clock), isoAt(clock, -maxAgeMs))) await add(tx)
      })
      // Reloads the keys even without a rotation, because an earlier reload may have failed.
      await load()
    },
  }
}

export const SEALED_SIGNING_KEYS: RootSealed = {
  table: 'signing_keys',
  column: 'sealed_private_key',
  id: { column: 'kid', type: 'text' },
}

const placeOf = (kid: string) => rootPlace(SEALED_SIGNING_KEYS, kid)

async function publicPart(row: store.SigningKeyRow): Promise<Loaded> {
  const { crv = '', x = '' } = row.public_jwk
  return {
    kid: row.kid,
    createdAt: Date.parse(row.created_at),
    verifiesUntil: row.retired_at ? Date.parse(row.retired_at) + VERIFIES_FOR : Infinity,
    // Imports the key in advance, because importing takes longer than verifying a signature.
    publicKey: (await importJWK(row.public_jwk, ALGORITHM)) as CryptoKey,
    jwk: { kty: 'OKP', crv, x, kid: row.kid, alg: ALGORITHM, use: 'sig' },
  }
}
