/** `/api/auth/totp/*`, and an administrator who takes a factor away. */
import { admins, signedIn } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { UserPath } from '../../users/index.ts'
import { Message, message } from '../auth.schema.ts'
import {
  PasswordProof,
  RecoveryCodes,
  TotpCode,
  TotpRequest,
  TotpSetup,
} from './second-factor.schema.ts'
import type { SecondFactor } from './second-factor.service.ts'

export function secondFactorOperations(secondFactor: SecondFactor): AnyOperation[] {
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
      refusals: ['wrong_password', 'totp_enabled', 'overloaded'],
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
      refusals: ['wrong_code', 'totp_not_set_up', 'totp_enabled', 'overloaded'],
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
      refusals: ['wrong_password', 'totp_demanded', 'overloaded'],
      handle: async ({ caller, body }) => {
        await secondFactor.disable(caller, body.password)
        return message('The second factor is no longer asked for; sign in again')
      },
    }),
    operation({
      ...common,
      method: 'DELETE',
      path: '/api/admin/users/{user_id}/totp',
      id: 'removeUserTotp',
      endsAccess: true,
      summary: "Takes a user's second factor away, as they have lost it, and signs them out",
      access: admins,
      params: UserPath,
      success: [204, null],
      refusals: ['not_found', 'superadmin_required', 'own_account'],
      handle: ({ caller, path }) => secondFactor.removeFor(caller, path.user_id),
    }),
  ]
}
