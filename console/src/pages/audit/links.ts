/** Links from an entry of the audit log to related entries. */
import type { RowLink } from '../../parts/data-table/index.ts'
import type { AuditEntry } from './entry-words.ts'

/** Returns an id in the form that the router writes to the URL without quotes. */
export const searchValue = (id: string | undefined): string | number | undefined =>
  id !== undefined && /^[1-9]\d{0,14}$/.test(id) ? Number(id) : id

const opened = ({ id, created_at }: AuditEntry) => ({ open: id, opened: created_at })

const linkTo = (search: Readonly<Record<string, unknown>>): RowLink => ({
  to: '.',
  search: () => ({ ...search }),
})

/** The link to all findings of the verification. */
export const linkToFindings: RowLink = linkTo({ action: ['audit.tampering_found'], range: 'all' })

/** Returns the link that opens an entry beside the list. */
export const linkToEntry = (entry: AuditEntry): RowLink => ({
  to: '.',
  search: (current) => ({ ...current, ...opened(entry) }),
})

/** Returns the link to all entries of the request that caused an entry. The panel of the entry stays open. */
export const linkToRequest = (entry: AuditEntry): RowLink | undefined =>
  entry.request_id === null ? undefined : linkTo({ request_id: entry.request_id, ...opened(entry) })

/** Returns the link to all entries by the person of an entry. */
export const linkToPerson = (entry: AuditEntry): RowLink | undefined =>
  entry.user_id === null
    ? undefined
    : linkTo({ user_id: entry.user_id, range: 'all', ...opened(entry) })

/** Returns the link to all entries about the record of an entry. */
export function linkToRecord(entry: AuditEntry): RowLink | undefined {
  const { resource_type, resource_id } = entry
  if (resource_id === null) return undefined
  return linkTo({ resource_type, resource_id: searchValue(resource_id), ...opened(entry) })
}
