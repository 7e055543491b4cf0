import { anyone } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { JsonWebKeySet } from './signing-keys.schema.ts'
import type { SigningKeys } from './signing-keys.service.ts'

export function signingKeyOperations(keys: SigningKeys): AnyOperation[] {
  const tag = 'Sign-in'
  return [
    operation({
      method: 'GET',
      path: '/.well-known/jwks.json',
      id: 'getJwks',
      summary: 'Get the signing keys',
      description:
        'Returns the public keys that verify access tokens, as a JSON Web Key Set (RFC 7517). Keys that are about to be used are listed in advance.',

      tag,
      access: anyone,
      success: [200, JsonWebKeySet],
      handle: () => keys.jwks(),
    }),
  ]
}
