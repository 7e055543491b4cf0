import Type, { type Static } from 'typebox'
import { Nullable } from '../../../lib/shapes.ts'
import { Password } from '../auth.schema.ts'

export const TotpSetup = Type.Object(
  {
    secret: Type.String({
      examples: ['JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'],
      description: 'The secret in base32, to enter by hand.',
    }),
    otpauth_url: Type.String({
      examples: [
        'otpauth://totp/North%20Clinic:nora.nurse@north.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=North%20Clinic',
      ],
    }),
    qr_svg: Type.String({
      examples: ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 41 41"/>'],
      description: 'The URL as a QR code in an SVG image.',
    }),
  },
  { $id: 'TotpSetup' },
)
export type TotpSetup = Static<typeof TotpSetup>

export const TotpRequest = Type.Object({
  password: Type.Optional(
    Nullable(Password, {
      description:
        'The current password. Optional within 10 minutes of a sign-in with `enrolment_required`.',
    }),
  ),
})

export const TotpCode = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 64, trim: true }),
})

export const RecoveryCodes = Type.Object({
  recovery_codes: Type.Array(Type.String({ examples: ['4F7K-9QWD-2MXP'] }), {
    description: 'The recovery codes. They are shown only in this response, and each works once.',
  }),
})

export const PasswordProof = Type.Object({ password: Password })
