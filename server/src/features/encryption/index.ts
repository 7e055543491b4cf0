/** Exports the key rotation feature to the composition root. */
export { openEncryption } from './encryption.ts'
export { verifySealed } from './verify.ts'
