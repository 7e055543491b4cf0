/** The public keys on the wire. */
import Type, { type Static } from 'typebox'

export const JsonWebKeySet = Type.Object({
  keys: Type.Array(
    Type.Object({
      kty: Type.String(),
      crv: Type.String(),
      x: Type.String(),
      kid: Type.String(),
      alg: Type.String(),
      use: Type.String(),
    }),
  ),
})
export type JsonWebKeySet = Static<typeof JsonWebKeySet>
