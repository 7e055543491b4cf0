/** Cryptography for the features: passwords, sealing at rest, the root key. */

export { type KeyRing, openKeyRing } from './key-ring.ts'
export { type KeyRotation, keyRotation } from './key-rotation.ts'
export { KEY_TABLES } from './keys.table.ts'
export { refuseLooseModes } from './loose-modes.ts'
export { refuseWeakPassword, weaknessOf } from './password-rules.ts'
export {
  hashesAtOnce,
  isSamePassword,
  openPasswords,
  type PasswordCost,
  type Passwords,
  partyOf,
} from './passwords.ts'
export { formerKey, otherRootKey, ownKey, parseKey, readKeyFile } from './root-key.ts'
export {
  type DeriveKey,
  keysFrom,
  openSealer,
  type Place,
  type Sealer,
  UnreadableError,
} from './seal.ts'
export {
  type OpenedRow,
  placeIn,
  type SealedTable,
  type SealedTokens,
} from './sealed-table.ts'
export type { TenantKeys, Token } from './tenant-keys.ts'
