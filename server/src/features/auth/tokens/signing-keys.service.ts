/**
 * The keys that sign access tokens: one signs, those before it still verify until every token they
 * signed has expired. So keys change without signing anyone out.
 */
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
 * Longer than any access token lives, by far: a node that could not read the keys anew signs with the
 * retired one until its next try, an hour later at the most.
 */
const VERIFIES_FOR = 2 * HOUR
/** An unknown `kid` makes the keys be read again, but not more often than this. */
const REREAD_AFTER = SECOND

export interface SigningKeys {
  /** The key that signs now. */
  signer(): { kid: string; key: KeyObject }
  /** The public key of `kid`; read anew when it is not known yet, as another node may have made it. */
  verifier(kid: string): Promise<CryptoKey | undefined>
  /** Whether the node knows the key, and it still verifies. */
  verifies(kid: string): boolean
  jwks(): JsonWebKeySet
  /** Makes a new signing key. Former keys still verify unless `revokes`. */
  rotate(revokes?: boolean): Promise<void>
  /**
   * Rotates when the signing key is older than `maxAgeMs`, once however many nodes do so, and reads the
   * keys anew in any case.
   */
  rotateWhenOlder(maxAgeMs: number): Promise<void>
}

interface Loaded {
  kid: string
  createdAt: number
  /** When the last token that it signed has long expired; the signing key has no end yet. */
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
   * Reads the keys anew, one read after the other: of two at once the older list could come last. Who
   * asks while one waits for its turn gets that one, which sees all that was there when they asked.
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
    const rows = await db.acrossTenants((tx) => store.listKeys(tx, since), 'read')
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
    if (topic === 'keys' || topic === null)
      void canFail(load(), 'reading the signing keys anew', log)
  })

  return {
    signer() {
      if (!signing) throw new Error('no key signs; start makes one')
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
          await store.deleteRetired(tx)
          // Also where another node has just added the new key.
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
      // Also where it was no turn to rotate: an earlier reading may have failed.
      await load()
    },
  }
}

export const SEALED_SIGNING_KEYS: RootSealed = {
  table: 'signing_keys',
  column: 'sealed_private_key',
  id: { column: 'kid', type: 'text' },
  formerly: 'signing_keys.private_key',
}

const placeOf = (kid: string) => rootPlace(SEALED_SIGNING_KEYS, kid)

async function publicPart(row: store.SigningKeyRow): Promise<Loaded> {
  const { crv = '', x = '' } = row.public_jwk
  return {
    kid: row.kid,
    createdAt: Date.parse(row.created_at),
    verifiesUntil: row.retired_at ? Date.parse(row.retired_at) + VERIFIES_FOR : Infinity,
    // Imported once: a key that is imported for each token costs more than its signature.
    publicKey: (await importJWK(row.public_jwk, ALGORITHM)) as CryptoKey,
    jwk: { kty: 'OKP', crv, x, kid: row.kid, alg: ALGORITHM, use: 'sig' },
  }
}
