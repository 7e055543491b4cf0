/** Builds the id and the body of an event's message. Uses only the journal entry (decisions §5). */

/** The fields of a journal entry from which a message is built. */
export interface EventEntry {
  id: number
  tenant_id: number
  action: string
  resource_type: string
  resource_id: string | null
  user_id: number | null
  changes: unknown
  created_at: string
}

/**
 * Returns the message id of an event, which is the same for all webhooks, attempts and replays. The id contains the
 * time, because a restored database assigns the same entry ids again.
 */
export function messageId(entry: Pick<EventEntry, 'id' | 'created_at'>): string {
  return `msg_${Date.parse(entry.created_at).toString(36)}_${entry.id.toString(36)}`
}

/** The latest possible time of a journal entry. The database and this service support years of four digits only. */
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z')

/** Returns the id and time of a message's journal entry, or undefined if the message id is invalid. */
export function parseMessageId(message: string): Pick<EventEntry, 'id' | 'created_at'> | undefined {
  const [, at = '', number = ''] = /^msg_([0-9a-z]+)_([0-9a-z]+)$/.exec(message) ?? []
  const time = Number.parseInt(at, 36)
  const id = Number.parseInt(number, 36)
  if (!(time <= LAST_TIME) || !Number.isSafeInteger(id)) return undefined
  const entry = { id, created_at: new Date(time).toISOString() }
  return messageId(entry) === message ? entry : undefined
}

/** Returns the JSON body of a message. Journal entries never change, so the body is identical in every attempt. */
export function messageBody(entry: EventEntry): string {
  return JSON.stringify({
    type: entry.action,
    timestamp: entry.created_at,
    id: messageId(entry),
    tenant_id: entry.tenant_id,
    data: dataOf(entry),
  })
}

/**
 * Returns the field `data` of a message, which identifies users by id only. Names, addresses and user agents are only
 * in the audit log. Events about patients contain only ids, and not the changes.
 */
function dataOf(entry: EventEntry) {
  return {
    entry_id: entry.id,
    resource_type: entry.resource_type,
    resource_id: entry.resource_id,
    user_id: entry.user_id,
    ...(entry.action.startsWith('patient.') ? {} : { changes: entry.changes ?? null }),
  }
}
