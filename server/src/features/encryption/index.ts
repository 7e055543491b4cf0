export { openEncryption } from './encryption.ts'
export { verifySealed } from './verify.ts'
