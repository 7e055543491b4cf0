/** Cryptography for the features: passwords, sealing at rest, the root key. */

export { type KeyRing, openKeyRing } from './key-ring.ts'
export { refuseWeakPassword } from './password-rules.ts'
export { openPasswords, type PasswordCost, type Passwords } from './passwords.ts'
export { otherRootKey, ownKey, parseKey, readKeyFile } from './root-key.ts'
export { openSealer, type Sealer } from './seal.ts'
