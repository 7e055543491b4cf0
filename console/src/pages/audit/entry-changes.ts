/**
 * Reads the details of an entry: changed fields with both values, changed fields whose values are secret, and other
 * facts.
 */

import { formatDuration } from '../../words/dates.ts'
import { formatBytes, formatNumber } from '../../words/numbers.ts'
import { roleNames } from '../../words/roles.ts'
import { statusWord } from '../../words/statuses.ts'
import { changesTexts } from './entry-changes.texts.ts'
import { type AuditEntry, nameIn } from './entry-words.ts'

type Fields = Readonly<Record<string, unknown>>

/** The details of an entry, grouped by how the panel shows them. */
export interface EntryChanges {
  /** Absent if the entry is not about changed fields. */
  readonly difference?: {
    readonly before: Fields
    readonly after: Fields
    readonly hidden: ReadonlySet<string>
  }
  /** The other details, in the order of the entry. */
  readonly facts: readonly (readonly [name: string, value: unknown])[]
}

/** Groups the details of an entry by how the panel shows them. */
export function readChanges({
  action,
  resource_type,
  changes,
}: Pick<AuditEntry, 'action' | 'resource_type' | 'changes'>): EntryChanges {
  const { before, after, ...others } = changes ?? {}
  const hidden = new Set(hiddenFields(action, resource_type, others))
  const isChange = isFields(before) || isFields(after) || hidden.size > 0
  const facts = Object.entries(others).filter(
    ([name]) => !(hidden.has(name) || (name === 'fields' && hidden.size > 0)),
  )
  if (!isChange) return { facts: facts.map(([name, value]) => [name, shown(name, value)]) }
  const withHidden = (fields: unknown) => ({
    ...Object.fromEntries([...hidden].map((name) => [name, undefined])),
    ...(isFields(fields) && mapFields(fields, resource_type)),
  })
  return {
    difference: { before: withHidden(before), after: withHidden(after), hidden },
    facts: facts.map(([name, value]) => [name, shown(name, value)]),
  }
}

/** Returns the changed fields whose values the journal omits. */
function hiddenFields(action: string, resourceType: string, others: Fields): readonly string[] {
  if (action === 'user.password_changed') return ['password']
  // The journal never contains the values of a patient's fields.
  if (resourceType === 'patient' && Array.isArray(others.fields)) return others.fields.map(String)
  return others.secret === 'changed' ? ['secret'] : []
}

const mapFields = (fields: Fields, resourceType: string): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, shown(name, value, resourceType)]),
  )

/** Formats a value for the reader, in words where possible. */
function shown(name: string, value: unknown, resourceType?: string): unknown {
  if (isDigest(value)) return changesTexts.longText(value.bytes, value.sha256)
  if (typeof value === 'number' && Object.hasOwn(numberFormats, name))
    return numberFormats[name]?.(value)
  if (name === 'role' && typeof value === 'string') return nameIn(roleNames, value)
  if (name === 'status' && resourceType === 'user' && typeof value === 'string')
    return statusWord('user', value).word
  if (!isFields(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shown(key, item)]))
}

/** How the panel formats numbers, by the name of the detail. Other numbers are shown as they are, such as ids. */
const numberFormats: Readonly<Record<string, (value: number) => string>> = {
  drill_seconds: formatDuration,
  size_bytes: formatBytes,
  entries: formatNumber,
  records: formatNumber,
  records_done: formatNumber,
  records_failed: formatNumber,
  records_total: formatNumber,
}

/** True for a hash. The journal stores a hash instead of a value that is too long. */
function isDigest(value: unknown): value is { sha256: string; bytes: number } {
  return isFields(value) && typeof value.sha256 === 'string' && typeof value.bytes === 'number'
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
