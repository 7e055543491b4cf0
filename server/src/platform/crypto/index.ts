export {
  type KeyRing,
  openKeyRing,
  openStoredKey,
  openStoredKeys,
  type StoredKey,
  type WrappedKey,
} from './key-ring.ts'
export { type KeyRotation, keyRotation } from './key-rotation.ts'
export { KEY_COLUMNS, KEY_TABLES } from './keys.table.ts'
export { refuseLooseModes } from './loose-modes.ts'
export { discardSealed } from './lost-root-key.ts'
export { newToken, type OpaqueToken, parseToken, toToken } from './opaque-tokens.ts'
export { type OwnKeys, ownKeys } from './own-keys.ts'
export { refuseWeakPassword, weaknessOf } from './password-rules.ts'
export {
  assignerOf,
  hashesAtOnce,
  isSamePassword,
  openPasswords,
  type PasswordCost,
  type Passwords,
  partyOf,
} from './passwords.ts'
export {
  type ConfiguredKey,
  givenOnly,
  mustOpen,
  parseKey,
  type RootKeySource,
  readKeyFile,
} from './root-key.ts'
export { lockUsableRoot, openRootKeys, openRootSealer, type RootKeys } from './root-keys.ts'
export { type RotatedRoot, rotateRoot } from './root-rotation.ts'
export { KEYS_ROOT_SEALED, type RootSealed, rootPlace } from './root-sealed.ts'
export { destroyFormerRoots, type Verified, verifyRootSealed } from './root-sealing.ts'
export {
  type DeriveKey,
  fingerprintBy,
  fingerprintOf,
  keysFrom,
  openSealer,
  orUnreadable,
  type SealedPlace,
  type Sealer,
  UnreadableError,
} from './seal.ts'
export {
  type OpenedRow,
  placeIn,
  type SealedTable,
  type SealedTokens,
} from './sealed-table.ts'
export type { DataKey, TenantKeys, Token } from './tenant-keys.ts'
