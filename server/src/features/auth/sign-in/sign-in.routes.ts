/** `POST /api/auth/login`. */
import { anyone } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { TokenResponse } from '../sessions/sessions.schema.ts'
import { Credentials } from './sign-in.schema.ts'
import type { SignIn } from './sign-in.service.ts'

export function signInOperations(signIn: SignIn): AnyOperation[] {
  const tag = 'Sign-in'
  return [
    operation({
      method: 'POST',
      path: '/api/auth/login',
      id: 'login',
      summary: 'Signs in and starts a session',
      tag,
      access: anyone,
      body: Credentials,
      success: [200, TokenResponse],
      refusals: [
        'invalid_credentials',
        'totp_required',
        'account_blocked',
        'tenant_inactive',
        'email_unverified',
        'overloaded',
      ],
      handle: ({ body, host, origin }) => signIn.login(body, host, origin),
    }),
  ]
}
