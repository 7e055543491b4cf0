/** The root key of a database: which of those that are given it is, and what is derived from it (ADR 0028). */
import { randomBytes } from 'node:crypto'
import { StartupError } from '../../lib/startup-error.ts'
import { lockUntilEnd, type Scopes, type TenantTx } from '../db/index.ts'
import { findCurrentKek } from './keys.store.ts'
import { type GivenKey, mustOpen, otherRootKey, type RootKeySource } from './root-key.ts'
import * as store from './root-keys.store.ts'
import { rootPlace, SEALED_KEK, SEALED_ROOT_KEY, SEALED_SERVICE_KEY } from './root-sealed.ts'
import {
  type DeriveKey,
  fingerprintOf,
  keysFrom,
  openSealer,
  type Place,
  type Sealer,
  UnreadableError,
} from './seal.ts'

const LOCK_NOT_AVAILABLE = '55P03'

export interface RootKeys {
  /** Seals by the root key; opens also what those before it have sealed, for as long as they are kept. */
  readonly sealer: Sealer
  /** Keys of the service, each for one purpose, which stay the same under another root key. */
  readonly deriveKey: DeriveKey
  /** Keys of the root key itself, and of those before it that are kept: the current one's first. */
  readonly ofRoots: readonly [DeriveKey, ...DeriveKey[]]
}

/**
 * Finds the root key that the database names, or has it name the first that is given.
 * @throws StartupError that says which one it needs
 */
export function openRootKeys(db: Scopes, source: RootKeySource): Promise<RootKeys> {
  return whileNoneRotates(db, async (tx) => {
    const { root, former, sealer } = await findRoot(tx, source)
    await source.settle(sealer.fingerprint)
    return {
      sealer,
      deriveKey: keysFrom(await serviceKey(tx, sealer)),
      ofRoots: [keysFrom(root.key), ...former.map(keysFrom)],
    }
  })
}

/**
 * What opens by the root key that the database names, and by those before it that still open: for who looks
 * at what is broken. It makes and names no key.
 * @throws StartupError that says which one it needs
 */
export function openRootSealer(db: Scopes, source: RootKeySource): Promise<Sealer> {
  return whileNoneRotates(db, async (tx) => {
    const named = await store.findCurrent(tx)
    const given = await source.given()
    const root = named ? byName(given, named) : given[0]
    if (!root) throw otherRootKey(named, given)
    const own = openSealer(root.key)
    const former = (await store.listFormer(tx)).filter((one) =>
      opens(own, formerPlace(one), one.sealed_key),
    )
    return openSealer(
      root.key,
      former.map((one) => own.open(one.sealed_key, formerPlace(one))),
    )
  })
}

const byName = (given: readonly GivenKey[], named: string) =>
  given.find(({ key }) => fingerprintOf(key) === named)

const formerPlace = ({ fingerprint }: { fingerprint: string }) =>
  rootPlace(SEALED_ROOT_KEY, fingerprint)

/**
 * Returns whether the root key is the current one or a former one that is kept. It stays so until the
 * transaction ends, because rotation and destruction wait for the lock.
 */
export async function lockUsableRoot(tx: TenantTx, fingerprint: string): Promise<boolean> {
  await lockUntilEnd(tx, 'rootKey')
  return store.isUsable(tx, fingerprint)
}

/** One process at a time: of several first ones, and beside one that rotates. */
async function whileNoneRotates<T>(db: Scopes, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  try {
    return await db.acrossTenants(async (tx) => {
      await lockUntilEnd(tx, 'rootKey')
      return work(tx)
    })
  } catch (error) {
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
    throw new StartupError('The root key is being rotated; start once that has ended.')
  }
}

export interface FoundRoot {
  root: GivenKey
  former: Buffer[]
  sealer: Sealer
}

/** @throws StartupError where none that is given opens the database */
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

/** The one that opens what is sealed already; else the first, which is made only where nothing is sealed. */
async function nameFirst(
  tx: TenantTx,
  source: RootKeySource,
  given: readonly GivenKey[],
): Promise<GivenKey | undefined> {
  const kek = await findCurrentKek(tx)
  const root = kek
    ? given.find(({ key }) =>
        opens(openSealer(key), rootPlace(SEALED_KEK, kek.id), kek.wrapped_key),
      )
    : (given[0] ?? (await source.make()))
  if (root) await store.insert(tx, fingerprintOf(root.key))
  return root
}

function opens(sealer: Sealer, place: Place, sealed: Buffer): boolean {
  try {
    sealer.open(sealed, place)
    return true
  } catch (error) {
    if (error instanceof UnreadableError) return false
    throw error
  }
}

async function serviceKey(tx: TenantTx, sealer: Sealer): Promise<Buffer> {
  const place = rootPlace(SEALED_SERVICE_KEY, 1)
  const sealed = await store.findServiceKey(tx)
  if (sealed) return mustOpen(() => sealer.open(sealed, place))
  const key = randomBytes(32)
  await store.insertServiceKey(tx, sealer.seal(key, place))
  return key
}
