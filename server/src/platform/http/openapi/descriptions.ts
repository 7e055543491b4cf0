/** Descriptions of operations in the OpenAPI document: effect, permitted callers and recorded actions. */
import type { AnyOperation } from '../operation.ts'

/** Returns the description of an operation in Markdown. @param events the actions that webhooks can subscribe to */
export function descriptionOf(op: AnyOperation, events: ReadonlySet<string>): string {
  return [op.description, callersOf(op), ...recordedBy(op, events)].join('\n\n')
}

function callersOf({ access: { name, roles } }: AnyOperation): string {
  if (!roles) return 'No access token is needed.'
  return name === 'signed in' ? 'Callers: any user.' : `Callers: ${roles.join(', ')}.`
}

function recordedBy({ records = [] }: AnyOperation, events: ReadonlySet<string>): string[] {
  if (records.length === 0) return []
  const recorded = `Audit log: ${list(records)}.`
  const published = records.filter((action) => events.has(action))
  if (published.length === 0) return [recorded]
  const all = published.length === 1 ? 'it' : 'them'
  const which = published.length < records.length ? list(published) : all
  return [`${recorded} Webhooks can subscribe to ${which}.`]
}

const list = (names: readonly string[]): string => names.map(asCode).join(', ')

const asCode = (name: string): string => ['`', name, '`'].join('')
