/** What the operations of several nouns have in common on the wire. */
import Type, { type Static } from 'typebox'
import { Nullable } from '../../lib/shapes.ts'

export const Password = Type.String({ minLength: 1, maxLength: 1000 })

export const Email = Type.String({ minLength: 1, maxLength: 254, trim: true })

export const Subdomain = Type.String({ maxLength: 63, trim: true })

export const Message = Type.Object(
  {
    detail: Type.String({ examples: ['The address is confirmed'] }),
    email_verified: Nullable(Type.Boolean()),
  },
  { $id: 'Message' },
)
export type Message = Static<typeof Message>

/** A sentence for the caller, and whether the address that it is about is confirmed, where that is known. */
export const message = (detail: string, email_verified: boolean | null = null): Message => ({
  detail,
  email_verified,
})
