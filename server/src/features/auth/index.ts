export { openAuth } from './auth.ts'
export { SECOND_FACTORS } from './second-factor/second-factor.service.ts'
export { requireSignedIn } from './sessions/ending.ts'
export { SEALED_SIGNING_KEYS } from './tokens/signing-keys.service.ts'
