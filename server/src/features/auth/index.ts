/** Public exports of the auth feature for the composition root. */
export { openAuth } from './auth.ts'
export { SECOND_FACTORS } from './second-factor/sealed.ts'
export { requireSignedIn } from './sessions/signed-in.ts'
export { SEALED_SIGNING_KEYS } from './tokens/signing-keys.service.ts'
