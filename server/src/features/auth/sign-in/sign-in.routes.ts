import { anyone } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { Credentials } from '../auth.schema.ts'
import { TokenResponse } from '../sessions/sessions.schema.ts'
import type { SignIn } from './sign-in.service.ts'

export const SIGN_IN_REFUSALS = [
  'invalid_credentials',
  'totp_required',
  'account_blocked',
  'tenant_inactive',
  'email_unverified',
  'overloaded',
] as const

export function signInOperations(signIn: SignIn): AnyOperation[] {
  const tag = 'Sign-in'
  return [
    operation({
      method: 'POST',
      path: '/api/auth/login',
      id: 'login',
      summary: 'Sign in',
      description:
        'Checks the e-mail address and password and starts a session. Returns an access token and a refresh token. An account with a second factor also needs `totp_code`. Repeated wrong passwords for an account or from a network have to wait.',
      records: ['auth.login', 'auth.login_failed', 'auth.session_ended'],
      tag,
      access: anyone,
      body: Credentials,
      success: [200, TokenResponse],
      refusals: SIGN_IN_REFUSALS,
      example: {
        body: {
          email: 'nora.nurse@north.example',
          password: 'a-Fine-Secret-3',
          subdomain: 'north',
        },
      },
      handle: ({ body, host, origin }) => signIn.login(body, host, origin),
    }),
  ]
}
