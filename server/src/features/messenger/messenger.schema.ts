import Type, { type Static } from 'typebox'
import { Nullable, Timestamp } from '../../lib/shapes.ts'
import { MAX_TYPED } from './linking/codes.ts'

const Names = Type.Array(Type.String({ examples: ['auth.login'] }))

export const MessengerStatus = Type.Object(
  {
    enabled: Type.Boolean({
      examples: [true],
      description: 'Whether the messenger is configured.',
    }),
    linked: Type.Boolean({ examples: [true] }),
    username: Nullable(Type.String({ examples: ['nora_n'] }), {
      description:
        'The user name of the chat. Null if the chat has none or if it cannot be decrypted.',
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
      'The eight characters that the bot sent to the chat. Case, spaces and hyphens are ignored.',
  }),
})

export const Subscription = Type.Object({
  events: Type.Array(Type.String({ maxLength: 100 }), {
    maxItems: 100,
    description:
      'Events, groups of events such as `user.*`, or `*` for all. An empty list turns notifications off.',
  }),
})
