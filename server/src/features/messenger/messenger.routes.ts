/** The operations under `/api/messenger`, which always concern the caller's own chat, and the provider's webhook. */
import Type from 'typebox'
import type { Refuse } from '../../lib/problems.ts'
import { anyone, type Caller, signedIn } from '../../platform/access/index.ts'
import { type AnyOperation, operation, RawBody } from '../../platform/http/index.ts'
import { HOOK_PATH, type Hook } from './bot/hook.ts'
import { readCode } from './linking/codes.ts'
import type { Linking } from './linking/linking.service.ts'
import { LinkOrder, MessengerStatus, Subscription } from './messenger.schema.ts'
import { availableTo } from './subscriptions/events.ts'

const tag = 'Messenger'
const SECRET_HEADER = 'x-telegram-bot-api-secret-token'
const UPDATE_EXAMPLE = {
  update_id: 1,
  message: {
    text: '/start',
    chat: { id: 57, type: 'private' },
    from: { id: 57, is_bot: false, first_name: 'Nora', username: 'nora_n' },
  },
}
/** The size limit of an update. An update with the longest possible text takes about 20 KiB. */
const UPDATE_LIMIT = 128 * 1024

export function messengerOperations(linking: Linking, hook: Hook): AnyOperation[] {
  const common = { tag, access: signedIn, success: [200, MessengerStatus] } as const
  return [
    operation({
      ...common,
      method: 'GET',
      path: '/api/messenger/status',
      id: 'getMessengerStatus',
      summary: "Get the caller's chat",
      description: 'Returns whether a chat is linked, and the events it is notified of.',

      handle: ({ caller }) => linking.status(caller),
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/messenger/link',
      id: 'linkMessenger',
      summary: 'Link a chat',
      description:
        'Links the chat that received the code with `/start`. A previously linked chat of the account is unlinked. A code works once, for 10 minutes.',
      records: ['messenger.linked', 'messenger.unlinked'],
      body: LinkOrder,
      refine: ({ body }, refuse) => refineCode(body.code, refuse),
      refusals: ['link_code_invalid', 'chat_linked', 'messenger_unconfigured', 'overloaded'],
      example: { body: { code: 'ABCD-2345' } },
      handle: ({ caller, refined }) => linking.link(caller, refined),
    }),
    operation({
      ...common,
      method: 'DELETE',
      path: '/api/messenger/link',
      id: 'unlinkMessenger',
      summary: 'Unlink the chat',
      description: 'Unlinks the chat of the caller. Succeeds also if none is linked.',
      records: ['messenger.unlinked'],
      example: { answer: { linked: false, username: null, events: [] } },
      handle: ({ caller }) => linking.unlink(caller),
    }),
    operation({
      ...common,
      method: 'POST',
      path: '/api/messenger/subscribe',
      id: 'subscribeMessenger',
      summary: 'Choose the events of the chat',
      description:
        'Replaces the list of events that the chat is notified of. Which events are available depends on the role.',
      records: ['messenger.subscribed'],
      body: Subscription,
      refine: ({ body, caller }, refuse) => refineEvents(body.events, caller, refuse),
      example: { body: { events: ['auth.*', 'user.password_changed'] } },
      handle: ({ caller, body }) => linking.subscribe(caller, body.events),
    }),
    operation({
      method: 'POST',
      path: HOOK_PATH,
      id: 'receiveMessengerUpdate',
      summary: 'Receive a messenger update',
      description:
        'Called by the messenger if `MESSENGER_MODE` is `webhook`. Requires the secret that the service has registered.',
      records: ['messenger.unlinked'],
      tag,
      access: anyone,
      headers: { [SECRET_HEADER]: 'The secret that authenticates the messenger.' },
      body: RawBody,
      refusesInput: true,
      example: { body: UPDATE_EXAMPLE },
      bodyLimit: UPDATE_LIMIT,
      success: [200, Type.Object({ received: Type.Boolean() })],
      refusals: ['wrong_secret', 'not_found', 'messenger_unconfigured'],
      async handle({ headers, body }) {
        await hook.take(headers[SECRET_HEADER] ?? [], body)
        return { received: true }
      },
    }),
  ]
}

/** Returns the code in its canonical form, or an empty string after it was rejected. */
function refineCode(typed: string | undefined, refuse: Refuse): string {
  const code = typed === undefined ? '' : readCode(typed)
  if (code === undefined)
    refuse(['body', 'code'], 'a code must have eight letters and digits, such as ABCD-2345')
  return code ?? ''
}

function refineEvents(
  events: readonly string[] | undefined,
  { role }: Caller,
  refuse: Refuse,
): void {
  const known = availableTo(role)
  for (const [index, event] of (events ?? []).entries())
    if (!known.includes(event))
      refuse(
        ['body', 'events', String(index)],
        `unknown event. The events you can subscribe to are ${known.join(', ')}`,
      )
}
