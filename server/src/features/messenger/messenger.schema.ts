/** The messenger on the wire. */
import Type, { type Static } from 'typebox'
import { Nullable, Timestamp } from '../../lib/shapes.ts'
import { MAX_TYPED } from './linking/codes.ts'

const Names = Type.Array(Type.String({ examples: ['auth.login'] }))

export const MessengerStatus = Type.Object(
  {
    enabled: Type.Boolean({ examples: [true], description: 'whether the service has a bot' }),
    linked: Type.Boolean({ examples: [true] }),
    username: Nullable(Type.String({ examples: ['nora_n'] }), {
      description: "the chat's; null where it has none, or does not open",
    }),
    linked_at: Nullable(Timestamp),
    events: Names,
    available_events: Names,
    bot_username: Nullable(Type.String({ examples: ['north_clinic_bot'] })),
  },
  { $id: 'MessengerStatus' },
)
export type MessengerStatus = Static<typeof MessengerStatus>

export const LinkOrder = Type.Object({
  code: Type.String({
    minLength: 1,
    maxLength: MAX_TYPED,
    description:
      'the eight characters that the chat was given; case, spaces and hyphens are nothing',
  }),
})

export const Subscription = Type.Object({
  events: Type.Array(Type.String({ maxLength: 100 }), {
    maxItems: 100,
    description: 'events, groups of them such as user.*, or * for all; none for silence',
  }),
})
