import { useEffect, useId, useState } from 'react'
import type { ListState } from '../../parts/list/list-state.ts'
import { SearchCombobox } from '../../parts/search-combobox.tsx'
import { TimeRange } from '../../parts/time-range.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { ActionFilter } from './action-filter.tsx'
import { useActionMeanings } from './action-meanings.ts'
import { auditTexts } from './audit.texts.ts'
import { peopleRequest } from './data.ts'
import { resourceTypeName } from './entry-words.ts'
import { type AuditParameters, isAddress, rangeParameters, timeRangeOf } from './filters.ts'
import { searchValue } from './links.ts'

const texts = auditTexts.filters

interface FilterBarProps {
  readonly list: ListState<AuditParameters>
  /** The name of the chosen person, if it is known. */
  readonly personName: string | undefined
}

/** The controls for the filters of the audit log. */
export function FilterBar({ list, personName }: FilterBarProps) {
  const { filters, setFilters } = list
  const change = (parameters: Parameters<typeof setFilters>[0]) =>
    setFilters({ ...parameters, at: undefined })
  return (
    <search className="filters audit-filters" aria-label={texts.label}>
      <ActionFilter
        filters={filters}
        onChange={({ action, group }) =>
          change({
            action: action.length > 0 ? action : undefined,
            group: group.length > 0 ? group : undefined,
          })
        }
      />
      <PersonFilter
        id={filters.user_id}
        name={personName}
        onChange={(user_id) => change({ user_id })}
      />
      <RecordTypeFilter
        value={filters.resource_type ?? ''}
        onChange={(type) => change({ resource_type: type || undefined, resource_id: undefined })}
      />
      {filters.resource_type !== undefined && (
        <TextFilter
          label={texts.recordId}
          value={filters.resource_id ?? ''}
          onChange={(text) => change({ resource_id: searchValue(text) })}
        />
      )}
      <TextFilter
        label={texts.address}
        value={filters.ip ?? ''}
        onChange={(ip) => change({ ip })}
        faultOf={(text) => (isAddress(text) ? undefined : texts.addressFault)}
      />
      <TimeRange
        value={timeRangeOf(filters)}
        onChange={(value) => change(rangeParameters(value))}
        onAll={() => change(rangeParameters(undefined))}
      />
    </search>
  )
}

interface PersonFilterProps {
  readonly id: number | undefined
  readonly name: string | undefined
  readonly onChange: (id: number | undefined) => void
}

/** Lets users choose a person by name or e-mail address. */
function PersonFilter({ id, name, onChange }: PersonFilterProps) {
  const clinicId = useClinicId()
  return (
    <SearchCombobox
      label={texts.who}
      placeholder={texts.whoHint}
      noneLabel={texts.anyone}
      minLength={2}
      find={(text) => peopleRequest(clinicId, text)}
      chosen={id === undefined ? undefined : { value: String(id), label: name ?? String(id) }}
      onChange={(person) => onChange(person && Number(person.value))}
    />
  )
}

interface RecordTypeFilterProps {
  readonly value: string
  readonly onChange: (type: string) => void
}

function RecordTypeFilter({ value, onChange }: RecordTypeFilterProps) {
  const { actions } = useActionMeanings()
  const types = new Set(actions.map(({ resource_type }) => resource_type))
  if (value !== '') types.add(value)
  const options = [...types].map((type) => ({ type, name: resourceTypeName(type) }))
  return (
    <select
      aria-label={texts.recordType}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{texts.anyRecord}</option>
      {options
        .sort((one, other) => one.name.localeCompare(other.name))
        .map(({ type, name }) => (
          <option key={type} value={type}>
            {name}
          </option>
        ))}
    </select>
  )
}

interface TextFilterProps {
  readonly label: string
  readonly value: string
  readonly onChange: (text: string | undefined) => void
  readonly faultOf?: (text: string) => string | undefined
}

/** A text filter. It applies when the user presses Enter or leaves the field. */
function TextFilter({ label, value, onChange, faultOf }: TextFilterProps) {
  const id = useId()
  const [text, setText] = useState(value)
  const [fault, setFault] = useState<string>()
  useEffect(() => setText(value), [value])
  const apply = () => {
    const wanted = text.trim()
    const found = wanted === '' ? undefined : faultOf?.(wanted)
    setFault(found)
    if (!found && wanted !== value) onChange(wanted || undefined)
  }
  return (
    <span className="text-filter">
      <input
        aria-label={label}
        aria-invalid={fault === undefined ? undefined : true}
        aria-describedby={fault === undefined ? undefined : id}
        placeholder={label}
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onBlur={apply}
        onKeyDown={(event) => event.key === 'Enter' && apply()}
      />
      {fault !== undefined && (
        <span id={id} role="alert" className="small fault-text">
          {fault}
        </span>
      )}
    </span>
  )
}
