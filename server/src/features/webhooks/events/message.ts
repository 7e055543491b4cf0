/** What goes out for an event: its id and its body, made of the journal's entry alone (decisions §5). */

/** What of an entry of the journal a message is made of. */
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
 * The id of an event's messages: the same at every try, for every webhook and in every replay. Made
 * of time and number, as a database that was set back to an earlier state gives numbers out again.
 */
export function messageId(entry: Pick<EventEntry, 'id' | 'created_at'>): string {
  return `msg_${Date.parse(entry.created_at).toString(36)}_${entry.id.toString(36)}`
}

/** No entry is of a later time: years have four digits, in the database's language as in ours. */
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z')

/** The entry that a message's id was made of; undefined for what is no such id. */
export function parseMessageId(message: string): Pick<EventEntry, 'id' | 'created_at'> | undefined {
  const [, at = '', number = ''] = /^msg_([0-9a-z]+)_([0-9a-z]+)$/.exec(message) ?? []
  const time = Number.parseInt(at, 36)
  const id = Number.parseInt(number, 36)
  if (!(time <= LAST_TIME) || !Number.isSafeInteger(id)) return undefined
  const entry = { id, created_at: new Date(time).toISOString() }
  return messageId(entry) === message ? entry : undefined
}

/** The JSON body. The entry never changes, so neither does a byte of this from try to try. */
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
 * Who acted is said by number: names, addresses and programs stay in the audit log. Of patients
 * nothing leaves but ids, so not even what the journal says has changed.
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
