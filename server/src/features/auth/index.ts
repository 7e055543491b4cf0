/** What the composition root uses of sign-in. */
export { openAuth } from './auth.ts'
