/** The second factor on the wire. */
import Type, { type Static } from 'typebox'
import { Nullable } from '../../../lib/shapes.ts'
import { Password } from '../auth.schema.ts'

export const TotpSetup = Type.Object(
  {
    secret: Type.String({ description: 'base32, for typing in by hand' }),
    otpauth_url: Type.String(),
    qr_svg: Type.String({ description: 'the URL as a QR code, an SVG image' }),
  },
  { $id: 'TotpSetup' },
)
export type TotpSetup = Static<typeof TotpSetup>

export const TotpRequest = Type.Object({
  password: Type.Optional(
    Nullable(Password, {
      description: 'may be left out within 10 minutes of a sign-in that demands the enrolment',
    }),
  ),
})

export const TotpCode = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 64, trim: true }),
})

export const RecoveryCodes = Type.Object({
  recovery_codes: Type.Array(Type.String(), { description: 'shown this once; each is good once' }),
})

export const PasswordProof = Type.Object({ password: Password })
