import { Icon } from '../../parts/icon.tsx'
import type { ListState } from '../../parts/list/list-state.ts'
import { auditTexts } from './audit.texts.ts'
import { entryTexts } from './entry-words.texts.ts'
import { type AuditEntry, recordOf } from './entry-words.ts'
import { type AuditParameters, recordFilter } from './filters.ts'

const texts = auditTexts.chips

interface ChipsProps {
  readonly list: ListState<AuditParameters>
  readonly entries: readonly AuditEntry[]
}

/** Describes the filters that links set, each with a button to remove the filter. */
export function Chips({ list, entries }: ChipsProps) {
  const { filters, setFilters } = list
  const { resource_type, resource_id } = recordFilter(filters)
  const chips = [
    filters.request_id !== undefined && {
      label: texts.request,
      without: { request_id: undefined },
    },
    filters.about_user !== undefined && {
      label: texts.about(nameOfPerson(filters.about_user, entries)),
      without: { about_user: undefined },
    },
    resource_type !== undefined &&
      resource_id !== undefined && {
        label: texts.about(nameOfRecord(resource_type, resource_id, entries)),
        without: { resource_type: undefined, resource_id: undefined },
      },
  ].filter((chip) => chip !== false)
  if (chips.length === 0) return null
  return (
    <ul className="chips" aria-label={texts.label}>
      {chips.map(({ label, without }) => (
        <li key={label}>
          <span className="ellipsis">
            <bdi>{label}</bdi>
          </span>
          <button
            type="button"
            className="plain"
            aria-label={texts.remove(label)}
            onClick={() => setFilters({ ...without, at: undefined })}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  )
}

/** Finds the name of a person among the entries. */
export function nameOfPerson(id: number, entries: readonly AuditEntry[]): string {
  return findPersonName(id, entries) ?? entryTexts.person(id)
}

/** Finds the name of a person among the entries. Returns undefined if no entry contains the name. */
export function findPersonName(id: number, entries: readonly AuditEntry[]): string | undefined {
  const by = entries.filter(({ user_id }) => user_id === id)
  const named = by.find(({ user_name }) => user_name !== null)
  if (named?.user_name) return named.user_name
  const about = entries.find(
    (entry) => entry.resource_type === 'user' && entry.resource_id === String(id),
  )
  // For a deleted person, or a person of another clinic, entries contain only the e-mail address.
  return (
    about?.resource_name ??
    by.find(({ user_email }) => user_email !== null)?.user_email ??
    undefined
  )
}

function nameOfRecord(type: string, id: string, entries: readonly AuditEntry[]): string {
  const known = entries.find(
    (entry) =>
      entry.resource_type === type && entry.resource_id === id && entry.resource_name !== null,
  )
  return recordOf(known ?? { resource_type: type, resource_id: id, resource_name: null })
}
