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

/** Returns the record that an entry is about: its name if known, otherwise its kind and id. */
export function recordOf(
  entry: Pick<AuditEntry, 'resource_type' | 'resource_id' | 'resource_name'>,
): string {
  if (entry.resource_name) return entry.resource_name
  const type = resourceTypeName(entry.resource_type)
  return entry.resource_id === null ? type : entryTexts.record(type, entry.resource_id)
}

/** Returns the word for a kind of record. Returns the technical name of an unknown kind. */
export const resourceTypeName = (type: string): string => nameIn(resourceTypeNames, type)

/** Returns the word for a technical name from a table. Returns the name itself if the table has no word. */
export const nameIn = (names: Readonly<Record<string, string>>, name: string): string =>
  Object.hasOwn(names, name) ? (names[name] ?? name) : name

/**
 * Returns what an entry reports. The action of verified backups covers tests and readings of the file, which the details
 * of the entry distinguish. Every other entry has the meaning of its action.
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
