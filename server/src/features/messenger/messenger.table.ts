import type { Generated } from 'kysely'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'

/** The bot's state. `deaf`: it can send but gets no updates. `away`: the provider has not responded for a minute. */
export type BotState = 'new' | 'ok' | 'deaf' | 'conflict' | 'refused' | 'away'

export interface MessengerBotTable {
  one: Generated<boolean>
  leased_by: string | null
  leased_until: string | null
  epoch: Generated<number>
  state: Generated<BotState>
  bot_id: number | null
  username: string | null
  next_update: number | null
  read_at: string | null
}

export interface MessengerUpdatesTable {
  bot_id: number
  update_id: number
  taken_at: Generated<string>
}

export interface MessengerChatsTable {
  hash: Buffer
  due_at: string | null
  free_at: string | null
  digest_at: string | null
  gap: Generated<number>
  failures: Generated<number>
  created_at: Generated<string>
}

export interface MessengerCodesTable {
  chat_hash: Buffer
  code_hash: Buffer
  sealed_chat: Buffer
  expires_at: string
}

export interface MessengerRepliesTable {
  id: Generated<number>
  chat_hash: Buffer
  is_answer: boolean
  sealed_reply: Buffer
  expires_at: string
}

export interface MessengerLinksTable {
  id: Generated<number>
  tenant_id: number
  user_id: number
  chat_hash: Buffer
  sealed_chat: Buffer
  linked_at: Generated<string>
  refusals: Generated<number>
  refused_since: string | null
}

export interface MessengerSubscriptionsTable {
  user_id: number
  tenant_id: number
  events: string[]
  updated_at: Generated<string>
}

export interface MessengerNoticesTable {
  id: Generated<number>
  tenant_id: number
  link_id: number
  entry_id: number
  event_at: string
  action: string
  is_own: boolean
  queued_at: string
}

export const MESSENGER_TABLES = {
  messenger_links: 'kept',
  messenger_subscriptions: 'kept',
  messenger_notices: 'kept',
  messenger_chats: 'kept',
  messenger_bot: 'rebuilt',
  messenger_updates: 'rebuilt',
  messenger_codes: 'ended',
  messenger_replies: 'ended',
} as const satisfies RestoreRules

/** Notifies the bot that a message waits for a chat. */
export const TOPIC_DUE = 'messenger-due'
/** Notifies processes that the bot or its state has changed. */
export const TOPIC_BOT = 'messenger-bot'

declare module '../../platform/db/database.ts' {
  interface Database {
    messenger_bot: MessengerBotTable
    messenger_updates: MessengerUpdatesTable
    messenger_chats: MessengerChatsTable
    messenger_codes: MessengerCodesTable
    messenger_replies: MessengerRepliesTable
    messenger_links: MessengerLinksTable
    messenger_subscriptions: MessengerSubscriptionsTable
    messenger_notices: MessengerNoticesTable
  }
}

declare module '../../platform/db/topics.ts' {
  interface Topics {
    /** Notifies the bot that a message is due for a chat. */
    messenger_due: typeof TOPIC_DUE
    /** Notifies processes that the bot or its state has changed. */
    messenger_bot: typeof TOPIC_BOT
  }
}
