import Type, { type Static } from 'typebox'
import { Nullable, Timestamp } from '../../../lib/shapes.ts'
import { Password } from '../auth.schema.ts'

export const ConfirmationRequest = Type.Object({
  password: Password,
  totp_code: Type.Optional(Nullable(Type.String({ maxLength: 64, trim: true }))),
})
export type ConfirmationRequest = Static<typeof ConfirmationRequest>

export const Confirmation = Type.Object({ confirmed_until: Timestamp }, { $id: 'Confirmation' })
export type Confirmation = Static<typeof Confirmation>
