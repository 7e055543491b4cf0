import { anyone } from '../../../platform/access/index.ts'
import { weaknessOf } from '../../../platform/crypto/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { Profile } from '../../users/index.ts'
import { Registration } from './registration.schema.ts'
import type { AccountRegistrations } from './registration.service.ts'

export function registrationOperations(registrations: AccountRegistrations): AnyOperation[] {
  const common = { tag: 'Accounts', access: anyone, limit: 'guesses' } as const
  return [
    operation({
      ...common,
      method: 'POST',
      path: '/api/auth/register',
      id: 'register',
      summary: 'Register an account',
      description:
        "Creates an account as far as the tenant's setting `registration` allows: immediately, after approval by an administrator, or not at all. Sends a link that confirms the e-mail address.",
      records: ['user.registered', 'auth.verification_sent'],
      body: Registration,
      refine: ({ body }, refuse) =>
        refuse(['body', 'password'], weaknessOf(body.password, body.email)),
      checkReferences: ({ body, host, faulty }, refuse) =>
        faulty.has('body.subdomain')
          ? Promise.resolve()
          : registrations.checkReferences(body, host, refuse),
      success: [201, Profile],
      refusals: [
        'registration_closed',
        'role_not_offered',
        'tenant_inactive',
        'not_found',
        'email_taken',
        'overloaded',
      ],
      example: {
        answer: {
          email: 'nils.new@north.example',
          full_name: 'Nils New',
          status: 'pending',
          is_active: false,
          email_verified: false,
        },
        body: {
          email: 'nils.new@north.example',
          password: 'a-Fine-Secret-3',
          full_name: 'Nils New',
          role: 'nurse',
          subdomain: 'north',
        },
      },
      handle: ({ body, host, origin }) => registrations.register(body, host, origin),
    }),
  ]
}
