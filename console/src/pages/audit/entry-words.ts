/** Describes entries of the audit log in words. */
import type { Schemas } from '../../api/client.ts'
import { entryTexts, resourceTypeNames } from './entry-words.texts.ts'

/** An entry of the audit log. */
export type AuditEntry = Schemas['AuditEntry']

/** Returns who made an entry: the name if known, otherwise the e-mail address. */
export function whoOf(
  entry: Pick<AuditEntry, 'user_id' | 'user_name' | 'user_email' | 'ip'>,
): string {
  const known = entry.user_name ?? entry.user_email
  if (known) return known
  if (entry.user_id !== null) return entryTexts.person(entry.user_id)
  // An entry with an IP address but without a user comes from a request, such as a refused sign-in. It was not made by
  // the service.
  return entry.ip === null ? entryTexts.service : entryTexts.notSignedIn
}

/** The fields of an entry that identify its record. */
type RecordFields = Pick<AuditEntry, 'resource_type' | 'resource_id' | 'resource_name'> &
  Partial<Pick<AuditEntry, 'changes'>>

/** Returns the record that an entry is about: its name if known, otherwise its kind and id. */
export function recordOf(entry: RecordFields): string {
  const name = recordName(entry)
  if (name) return name
  const type = resourceTypeName(entry.resource_type)
  const { resource_id: id } = entry
  if (id === null) return type
  return entryTexts.record(type, entry.resource_type === 'backup' ? id.slice(0, 8) : id)
}

/** The detail of an entry that names its record, by kind of record. A deleted record has no current name. */
const NAMING: Readonly<Record<string, string>> = {
  user: 'full_name',
  tenant: 'name',
  department: 'name',
  payment: 'provider_payment_id',
  fix: 'key',
}

/** Returns the current name of an entry's record, otherwise the name in the details of the entry. */
export function recordName({
  resource_type,
  resource_name,
  changes,
}: RecordFields): string | undefined {
  if (resource_name) return resource_name
  const field = NAMING[resource_type]
  if (field === undefined) return undefined
  const { before, after } = changes ?? {}
  for (const details of [after, before, changes]) {
    const name = (details as Readonly<Record<string, unknown>> | null | undefined)?.[field]
    if (typeof name === 'string' && name !== '') return name
  }
  return undefined
}

/** Returns the word for a kind of record. Returns the technical name of an unknown kind. */
export const resourceTypeName = (type: string): string => nameIn(resourceTypeNames, type)

/** Returns the word for a technical name from a table. Returns the name itself if the table has no word. */
export const nameIn = (names: Readonly<Record<string, string>>, name: string): string =>
  Object.hasOwn(names, name) ? (names[name] ?? name) : name

/**
 * Returns what an entry reports, usually the meaning of its action. A backup is verified by a test restore or by reading
 * its file. The details of the entry show which of them.
 */
export function meaningOfEntry(
  { action, changes }: Pick<AuditEntry, 'action' | 'changes'>,
  meaningOf: (action: string) => string,
): string {
  if (action !== 'backup.verified') return meaningOf(action)
  return isTest(changes) ? entryTexts.tested : entryTexts.fileVerified
}

/** True for the details of an entry about a test restore. */
export const isTest = (changes: AuditEntry['changes']): boolean =>
  typeof changes?.drill_seconds === 'number'

/** Returns the main clause of an action's meaning. Lists show this short form. */
export const shortMeaning = (meaning: string): string => meaning.split(/[;:]/)[0] ?? meaning
