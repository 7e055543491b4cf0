import { anyone } from '../../../platform/access/index.ts'
import { weaknessOf } from '../../../platform/crypto/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { Message, message } from '../auth.schema.ts'
import type { AskTenant } from '../sign-in/asked-tenant.ts'
import { Confirmation, LinkRequest, NewPasswordRequest, TokenQuery } from './recovery.schema.ts'
import type { Recovery } from './recovery.service.ts'

export function recoveryOperations(recovery: Recovery, askTenant: AskTenant): AnyOperation[] {
  const common = { tag: 'Accounts', access: anyone, limit: 'guesses' } as const
  return [
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/resend-verification',
      id: 'resendVerification',
      summary: 'Request a verification link',
      description:
        'Sends a new link that confirms the e-mail address. The response is the same whether or not the account exists.',
      records: ['auth.verification_sent'],
      body: LinkRequest,
      success: [202, Message],
      example: {
        answer: {
          detail: 'If an unconfirmed account with this address exists, we have sent a link to it',
        },
        body: { email: 'nils.new@north.example', subdomain: 'north' },
      },
      refusals: ['overloaded'],
      handle: async ({ body, host, origin }) => {
        await recovery.requestLink({
          purpose: 'verify_email',
          email: body.email,
          tenant: askTenant(body.subdomain, host),
          origin,
        })
        return message(
          'If an unconfirmed account with this address exists, we have sent a link to it',
          false,
        )
      },
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/verify-email',
      id: 'verifyEmail',
      summary: 'Confirm an e-mail address',
      description:
        'Confirms the address with the token of a link. With `password`, the token is accepted only together with the password of the account. Each link works once.',
      records: ['user.email_verified'],
      query: TokenQuery,
      body: Confirmation,
      bodyOptional: true,
      success: [200, Message],
      refusals: ['link_expired', 'wrong_password', 'overloaded'],
      example: { answer: { email_verified: true }, body: { password: 'a-Fine-Secret-3' } },
      handle: async ({ query, body, origin }) => {
        await recovery.verifyEmail(query.token, body.password ?? undefined, origin)
        return message('Your e-mail address is confirmed', true)
      },
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/request-reset',
      id: 'requestReset',
      summary: 'Request a password reset',
      description:
        'Sends a link to choose a new password. The response is the same whether or not the account exists.',
      records: ['auth.reset_requested'],
      body: LinkRequest,
      success: [202, Message],
      example: {
        answer: { detail: 'If an account with this address exists, we have sent a link to it' },
        body: { email: 'nils.new@north.example', subdomain: 'north' },
      },
      refusals: ['overloaded'],
      handle: async ({ body, host, origin }) => {
        await recovery.requestLink({
          purpose: 'reset_password',
          email: body.email,
          tenant: askTenant(body.subdomain, host),
          origin,
        })
        return message('If an account with this address exists, we have sent a link to it')
      },
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/reset-password',
      id: 'resetPassword',
      summary: 'Choose a new password with a link',
      description:
        'Sets the password with the token of a reset link or an invitation, confirms the e-mail address, and ends every session of the user. The user is notified by mail.',
      records: [
        'user.password_changed',
        'user.email_verified',
        'auth.totp_disabled',
        'messenger.unlinked',
      ],
      body: NewPasswordRequest,
      refine: ({ body }, refuse) => refuse(['body', 'new_password'], weaknessOf(body.new_password)),
      success: [200, Message],
      refusals: ['link_expired', 'overloaded'],
      example: {
        answer: {
          detail: 'Your password was changed. Sign in with the new password.',
          email_verified: true,
        },
        body: { token: 'MQ.3kTh9Zr0qv1uXn8wYb2cDd', new_password: 'another-Secret-4' },
      },
      handle: async ({ body, origin }) => {
        await recovery.resetPassword(body.token, body.new_password, origin)
        return message('Your password was changed. Sign in with the new password.', true)
      },
    }),
  ]
}
