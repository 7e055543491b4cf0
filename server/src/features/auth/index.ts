/** What the composition root and higher features may use of sign-in. */
export { type AuthParts, authOperations } from './auth.routes.ts'
export { sessionStates } from './sessions/session-states.ts'
export { type Sessions, sessionsService } from './sessions/sessions.service.ts'
export { signInService } from './sign-in/sign-in.service.ts'
export { accessTokens } from './tokens/access-tokens.ts'
export { openSigningKeys } from './tokens/signing-keys.service.ts'
