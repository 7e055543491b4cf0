import Type, { type Static } from 'typebox'

export const JsonWebKeySet = Type.Object({
  keys: Type.Array(
    Type.Object({
      kty: Type.String({ examples: ['OKP'] }),
      crv: Type.String({ examples: ['Ed25519'] }),
      x: Type.String({ examples: ['11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'] }),
      kid: Type.String({ examples: ['2026-11-21-1'] }),
      alg: Type.String({ examples: ['EdDSA'] }),
      use: Type.String({ examples: ['sig'] }),
    }),
  ),
})
export type JsonWebKeySet = Static<typeof JsonWebKeySet>
