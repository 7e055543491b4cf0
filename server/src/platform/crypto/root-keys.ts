/** Selects the database's root key among the configured keys and derives further keys from it (ADR 0028). */
import { randomBytes } from 'node:crypto'
import { StartupError } from '../../lib/startup-error.ts'
import { lockUntilEnd, type Scopes, type TenantTx } from '../db/index.ts'
import { findCurrentKek } from './keys.store.ts'
import { type ConfiguredKey, mustOpen, otherRootKey, type RootKeySource } from './root-key.ts'
import * as store from './root-keys.store.ts'
import { rootPlace, SEALED_KEK, SEALED_ROOT_KEY, SEALED_SERVICE_KEY } from './root-sealed.ts'
import {
  type DeriveKey,
  fingerprintOf,
  keysFrom,
  openSealer,
  orUnreadable,
  type SealedPlace,
  type Sealer,
  UnreadableError,
} from './seal.ts'

const LOCK_NOT_AVAILABLE = '55P03'

export interface RootKeys {
  /** Encrypts with the current root key. Decrypts values of former root keys too, until those keys are destroyed. */
  readonly sealer: Sealer
  /** Derives the service's keys, one per purpose. They do not change when the root key changes. */
  readonly deriveKey: DeriveKey
  /** Derives keys directly from root keys: the current one first, then the stored former ones. */
  readonly ofRoots: readonly [DeriveKey, ...DeriveKey[]]
}

/** Finds the recorded root key, or records the first one. @throws StartupError that names the required key */
export function openRootKeys(db: Scopes, source: RootKeySource): Promise<RootKeys> {
  return whileNoneRotates(db, async (tx) => {
    const { root, former, sealer } = await findRoot(tx, source)
    await source.settle(sealer.fingerprint)
    const deriveKey = await useEntryKey(tx, sealer)
    return {
      sealer,
      deriveKey,
      ofRoots: [keysFrom(root.key), ...former.map(keysFrom)],
    }
  })
}

/**
 * Returns a sealer with all readable root keys, to diagnose damage. Creates and records no key. @throws StartupError
 * that names the required key if no configured key matches
 */
export function openRootSealer(db: Scopes, source: RootKeySource): Promise<Sealer> {
  return whileNoneRotates(db, async (tx) => {
    const named = await store.findCurrent(tx)
    const given = await source.given()
    const root = named ? byName(given, named) : given[0]
    if (!root) throw otherRootKey(named, given)
    const own = openSealer(root.key)
    const former = (await store.listFormer(tx)).flatMap((one) => {
      const key = orUnreadable(() => own.open(one.sealed_key, formerPlace(one)))
      return key instanceof UnreadableError ? [] : [key]
    })
    return openSealer(root.key, former)
  })
}

const byName = (given: readonly ConfiguredKey[], named: string) =>
  given.find(({ key }) => fingerprintOf(key) === named)

const formerPlace = ({ fingerprint }: { fingerprint: string }) =>
  rootPlace(SEALED_ROOT_KEY, fingerprint)

/**
 * Returns true for the current root key or a stored former one. A lock keeps the result true until the transaction
 * ends.
 */
export async function lockUsableRoot(tx: TenantTx, fingerprint: string): Promise<boolean> {
  await lockUntilEnd(tx, 'rootKey')
  return store.isUsable(tx, fingerprint)
}

/**
 * Runs work under the root key lock, against first starts and rotations. @throws StartupError if the lock takes too
 * long
 */
async function whileNoneRotates<T>(db: Scopes, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  try {
    return await db.acrossTenants(async (tx) => {
      await lockUntilEnd(tx, 'rootKey')
      return work(tx)
    })
  } catch (error) {
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
    throw new StartupError(
      'The root key is being rotated. Start the service when the rotation has ended.',
    )
  }
}

export interface FoundRoot {
  root: ConfiguredKey
  former: Buffer[]
  sealer: Sealer
}

/** Returns the root key, its stored former keys, and a sealer with all. @throws StartupError if no key decrypts */
export async function findRoot(tx: TenantTx, source: RootKeySource): Promise<FoundRoot> {
  const named = await store.findCurrent(tx)
  const given = await source.given()
  const root = named ? byName(given, named) : await nameFirst(tx, source, given)
  if (!root) throw otherRootKey(named, given)
  const own = openSealer(root.key)
  const former = (await store.listFormer(tx)).map((one) =>
    mustOpen(() => own.open(one.sealed_key, formerPlace(one))),
  )
  return { root, former, sealer: openSealer(root.key, former) }
}

/** Records the key that decrypts existing data. For an empty database, records the first key or creates it. */
async function nameFirst(
  tx: TenantTx,
  source: RootKeySource,
  given: readonly ConfiguredKey[],
): Promise<ConfiguredKey | undefined> {
  const kek = await findCurrentKek(tx)
  const root = kek
    ? given.find(({ key }) =>
        opens(openSealer(key), rootPlace(SEALED_KEK, kek.id), kek.wrapped_key),
      )
    : (given[0] ?? (await source.make()))
  if (root) await store.insert(tx, fingerprintOf(root.key))
  return root
}

const opens = (sealer: Sealer, place: SealedPlace, sealed: Buffer): boolean =>
  !(orUnreadable(() => sealer.open(sealed, place)) instanceof UnreadableError)

/**
 * Sets the key with which entries of the journal are marked. It does not change when the root key changes. Returns the
 * function that derives it and the service's other keys.
 */
export async function useEntryKey(tx: TenantTx, sealer: Sealer): Promise<DeriveKey> {
  const deriveKey = keysFrom(await serviceKey(tx, sealer))
  tx.entryKey.use(deriveKey('journal entry'))
  return deriveKey
}

async function serviceKey(tx: TenantTx, sealer: Sealer): Promise<Buffer> {
  const place = rootPlace(SEALED_SERVICE_KEY, 1)
  const sealed = await store.findServiceKey(tx)
  if (sealed) return mustOpen(() => sealer.open(sealed, place))
  const key = randomBytes(32)
  await store.insertServiceKey(tx, sealer.seal(key, place))
  return key
}
