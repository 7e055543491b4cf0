/** The root key of a database: which of those that are given it is, and what is derived from it (ADR 0028). */
import { randomBytes } from 'node:crypto'
import { StartupError } from '../../lib/startup-error.ts'
import { lockUntilEnd, type Scopes, type TenantTx } from '../db/index.ts'
import { findCurrentKek } from './keys.store.ts'
import { type GivenKey, otherRootKey, type RootKeySource } from './root-key.ts'
import * as store from './root-keys.store.ts'
import { rootPlace, SEALED_KEK, SEALED_ROOT_KEY, SEALED_SERVICE_KEY } from './root-sealed.ts'
import {
  type DeriveKey,
  fingerprintOf,
  keysFrom,
  openSealer,
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
export async function openRootKeys(db: Scopes, source: RootKeySource): Promise<RootKeys> {
  try {
    return await db.acrossTenants(async (tx) => {
      // One process at a time: of several first ones, and beside one that rotates.
      await lockUntilEnd(tx, 'rootKey')
      const { root, former, sealer } = await findRoot(tx, source)
      await source.settle(sealer.fingerprint)
      return {
        sealer,
        deriveKey: keysFrom(await serviceKey(tx, sealer)),
        ofRoots: [keysFrom(root.key), ...former.map(keysFrom)],
      }
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
  const root = named
    ? given.find(({ key }) => fingerprintOf(key) === named)
    : await nameFirst(tx, source, given)
  if (!root) throw otherRootKey(named, given)
  const own = openSealer(root.key)
  const former = (await store.listFormer(tx)).map(({ fingerprint, sealed_key }) =>
    own.open(sealed_key, rootPlace(SEALED_ROOT_KEY, fingerprint)),
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
    ? given.find(({ key }) => opens(openSealer(key), kek))
    : (given[0] ?? (await source.make()))
  if (root) await store.insert(tx, fingerprintOf(root.key))
  return root
}

function opens(sealer: Sealer, kek: { id: number; wrapped_key: Buffer }): boolean {
  try {
    sealer.open(kek.wrapped_key, rootPlace(SEALED_KEK, kek.id))
    return true
  } catch (error) {
    if (error instanceof UnreadableError) return false
    throw error
  }
}

async function serviceKey(tx: TenantTx, sealer: Sealer): Promise<Buffer> {
  const place = rootPlace(SEALED_SERVICE_KEY, 1)
  const sealed = await store.findServiceKey(tx)
  if (sealed) return sealer.open(sealed, place)
  const key = randomBytes(32)
  await store.insertServiceKey(tx, sealer.seal(key, place))
  return key
}
