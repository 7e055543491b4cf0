/** `/api/auth/*` for making an account, confirming it, getting back in, and the second factor. */
import { admins, anyone, signedIn } from '../../platform/access/index.ts'
import { weaknessOf } from '../../platform/crypto/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { Profile, UserPath } from '../users/index.ts'
import {
  Confirmation,
  LinkRequest,
  Message,
  NewPasswordRequest,
  PasswordProof,
  RecoveryCodes,
  Registration,
  TokenQuery,
  TotpCode,
  TotpRequest,
  TotpSetup,
} from './auth.schema.ts'
import type { Recovery } from './recovery/recovery.service.ts'
import type { Registrations } from './registration/registration.service.ts'
import type { SecondFactor } from './second-factor/second-factor.service.ts'
import type { AskTenant } from './sign-in/asked-tenant.ts'

export interface AccountParts {
  registrations: Registrations
  recovery: Recovery
  secondFactor: SecondFactor
  askTenant: AskTenant
}

const said = (detail: string, email_verified: boolean | null): Message => ({
  detail,
  email_verified,
})

export function accountOperations(parts: AccountParts): AnyOperation[] {
  return [...registrationOperations(parts), ...recoveryOperations(parts), ...totpOperations(parts)]
}

function registrationOperations({
  registrations,
  recovery,
  askTenant,
}: AccountParts): AnyOperation[] {
  const common = { tag: 'Accounts', access: anyone, limit: 'guesses' } as const
  return [
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/register',
      id: 'register',
      summary: "Makes an account, as far as the tenant's setting `registration` lets people",
      body: Registration,
      refine: ({ body }, refuse) =>
        refuse(['body', 'password'], weaknessOf(body.password, body.email)),
      checkReferences: ({ body, host, faulty }, refuse) =>
        faulty.has('body.subdomain')
          ? Promise.resolve()
          : registrations.checkReferences(body, host, refuse),
      success: [201, Profile],
      refusals: [403, 404, 409],
      handle: ({ body, host, origin }) => registrations.register(body, host, origin),
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/resend-verification',
      id: 'resendVerification',
      summary: 'Sends a new link to confirm the address, if there is such an account',
      body: LinkRequest,
      success: [202, Message],
      handle: async ({ body, host, origin }) => {
        await recovery.requestLink({
          purpose: 'verify_email',
          email: body.email,
          tenant: askTenant(body.subdomain, host),
          origin,
        })
        return said(
          'If there is such an account that is not confirmed yet, a link is on its way',
          false,
        )
      },
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/verify-email',
      id: 'verifyEmail',
      summary:
        'Confirms an address with the token of a link, and with the password where it is given',
      query: TokenQuery,
      body: Confirmation,
      bodyOptional: true,
      success: [200, Message],
      refusals: [400, 403],
      handle: async ({ query, body, origin }) => {
        await recovery.verifyEmail(query.token, body.password ?? undefined, origin)
        return said('The address is confirmed', true)
      },
    }),
  ]
}

function recoveryOperations({ recovery, askTenant }: AccountParts): AnyOperation[] {
  const common = { tag: 'Accounts', access: anyone, limit: 'guesses' } as const
  return [
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/request-reset',
      id: 'requestReset',
      summary: 'Sends a link to choose a new password, if there is such an account',
      body: LinkRequest,
      success: [202, Message],
      handle: async ({ body, host, origin }) => {
        await recovery.requestLink({
          purpose: 'reset_password',
          email: body.email,
          tenant: askTenant(body.subdomain, host),
          origin,
        })
        return said('If there is such an account, a link is on its way', null)
      },
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/reset-password',
      id: 'resetPassword',
      summary: 'Sets a new password with the token of a link, and ends all sessions',
      body: NewPasswordRequest,
      refine: ({ body }, refuse) => refuse(['body', 'new_password'], weaknessOf(body.new_password)),
      success: [200, Message],
      refusals: [400],
      handle: async ({ body, origin }) => {
        await recovery.resetPassword(body.token, body.new_password, origin)
        return said('The password was changed; sign in with it', true)
      },
    }),
  ]
}

function totpOperations({ secondFactor }: AccountParts): AnyOperation[] {
  const common = { tag: 'Second factor', access: signedIn } as const
  return [
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/totp/setup',
      id: 'setUpTotp',
      summary: 'Offers a secret for an authenticator app; nothing is asked for until it is enabled',
      whileRestricted: ['enrolment'],
      body: TotpRequest,
      bodyOptional: true,
      success: [200, TotpSetup],
      refusals: [409],
      handle: ({ caller, body }) => secondFactor.setUp(caller, body.password ?? undefined),
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/totp/enable',
      id: 'enableTotp',
      summary:
        'Enables the offered secret with a code of it, and ends all other sessions; answers the recovery codes, once',
      whileRestricted: ['enrolment'],
      body: TotpCode,
      success: [200, RecoveryCodes],
      refusals: [409],
      handle: async ({ caller, body }) => ({
        recovery_codes: await secondFactor.enable(caller, body.code),
      }),
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/totp/disable',
      id: 'disableTotp',
      summary: "Takes the caller's second factor away and ends all their sessions",
      body: PasswordProof,
      success: [200, Message],
      refusals: [409],
      handle: async ({ caller, body }) => {
        await secondFactor.disable(caller, body.password)
        return said('The second factor is no longer asked for; sign in again', null)
      },
    }),
    operation({
      ...common,
      method: 'DELETE',
      path: '/api/admin/users/{user_id}/totp',
      id: 'removeUserTotp',
      summary: "Takes a user's second factor away, as they have lost it, and signs them out",
      access: admins,
      params: UserPath,
      success: [204, null],
      refusals: [404, 409],
      handle: ({ caller, path }) => secondFactor.removeFor(caller, path.user_id),
    }),
  ]
}
