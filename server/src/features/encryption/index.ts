/** What the composition root uses of the rotation of keys. */
export { openEncryption } from './encryption.ts'
export { verifySealed } from './verify.ts'
