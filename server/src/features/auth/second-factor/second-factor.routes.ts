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
      summary: 'Set up a second factor',
      description:
        'Returns a secret for an authenticator app as text, URL and QR code. The second factor takes effect once it is enabled with a code.',
      records: ['auth.totp_offered'],
      whileRestricted: ['enrolment'],
      body: TotpRequest,
      bodyOptional: true,
      success: [200, TotpSetup],
      refusals: ['wrong_password', 'totp_enabled', 'overloaded'],
      example: { body: { password: 'a-Fine-Secret-3' } },
      handle: ({ caller, body }) => secondFactor.setUp(caller, body.password ?? undefined),
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/totp/enable',
      id: 'enableTotp',
      summary: 'Enable the second factor',
      description:
        'Enables the offered secret with a code from the app and ends the other sessions of the caller. Returns recovery codes, which are shown only once. The user is notified by mail.',
      records: ['auth.totp_enabled'],
      whileRestricted: ['enrolment'],
      body: TotpCode,
      success: [200, RecoveryCodes],
      refusals: ['wrong_code', 'totp_not_set_up', 'totp_enabled', 'overloaded'],
      example: { body: { code: '287082' } },
      handle: async ({ caller, body }) => ({
        recovery_codes: await secondFactor.enable(caller, body.code),
      }),
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/totp/disable',
      id: 'disableTotp',
      summary: 'Disable the second factor',
      description:
        'Removes the second factor of the caller and ends all their sessions. The user is notified by mail.',
      records: ['auth.totp_disabled'],
      body: PasswordProof,
      success: [200, Message],
      refusals: ['wrong_password', 'totp_demanded', 'overloaded'],
      example: {
        answer: { detail: 'The second factor was disabled. Sign in again.' },
        body: { password: 'a-Fine-Secret-3' },
      },
      handle: async ({ caller, body }) => {
        await secondFactor.disable(caller, body.password)
        return message('The second factor was disabled. Sign in again.')
      },
    }),
    operation({
      ...common,
      method: 'DELETE',
      path: '/api/admin/users/{user_id}/totp',
      id: 'removeUserTotp',
      endsAccess: true,
      summary: "Remove a user's second factor",
      description:
        'Removes the second factor of a user who has lost it, and ends their sessions. The user is notified by mail.',
      records: ['auth.totp_disabled'],
      access: admins,
      isFinal: true,
      params: UserPath,
      success: [204, null],
      refusals: ['not_found', 'superadmin_required', 'own_account'],
      handle: ({ caller, path }) => secondFactor.removeFor(caller, path.user_id),
    }),
  ]
}
