/** Entries of the audit log in words. */
import type { Schemas } from '../../api/client.ts'
import { entryTexts, resourceTypeNames } from './entry-words.texts.ts'

/** An entry of the audit log. */
export type AuditEntry = Schemas['AuditEntry']

/** Returns who made an entry: the name, else the e-mail address. */
export function whoOf(
  entry: Pick<AuditEntry, 'user_id' | 'user_name' | 'user_email' | 'ip'>,
): string {
  const known = entry.user_name ?? entry.user_email
  if (known) return known
  if (entry.user_id !== null) return entryTexts.person(entry.user_id)
  // An entry of a request without a user, such as a refused sign-in, is not the work of the service.
  return entry.ip === null ? entryTexts.service : entryTexts.notSignedIn
}

/** Returns the record that an entry is about: its name, else its kind with its id. */
export function recordOf(
  entry: Pick<AuditEntry, 'resource_type' | 'resource_id' | 'resource_name'>,
): string {
  if (entry.resource_name) return entry.resource_name
  const type = resourceTypeName(entry.resource_type)
  return entry.resource_id === null ? type : entryTexts.record(type, entry.resource_id)
}

/** Returns the word for a kind of record. An unknown kind is shown as it is. */
export const resourceTypeName = (type: string): string => nameIn(resourceTypeNames, type)

/** Returns the word of a name in a table, or the name itself. */
export const nameIn = (names: Readonly<Record<string, string>>, name: string): string =>
  Object.hasOwn(names, name) ? (names[name] ?? name) : name

/** Returns the main clause of a meaning, for lists. */
export const shortMeaning = (meaning: string): string => meaning.split(/[;:]/)[0] ?? meaning
