import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import type { ComboboxOption } from '../../parts/combobox.tsx'
import { type OptionsRequest, SearchCombobox } from '../../parts/search-combobox.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { usersTexts as texts } from './users.texts.ts'

interface DepartmentChoiceProps {
  readonly label: string
  /** The id of the chosen department; undefined for none. */
  readonly value: number | undefined
  /** The name of the chosen department, if it is known. */
  readonly valueName: string | undefined
  /** The label of the option "no department". */
  readonly noneLabel: string
  readonly onChange: (id: number | undefined) => void
}

/** A choice of a department. It searches departments by name while the user types. */
export function DepartmentChoice(props: DepartmentChoiceProps) {
  const { value, valueName, onChange, ...others } = props
  const [chosen, setChosen] = useState<ComboboxOption>()
  const known =
    value === undefined
      ? undefined
      : { value: String(value), label: valueName ?? texts.unknownDepartment(value) }
  return (
    <SearchCombobox
      {...others}
      find={useFindDepartments()}
      chosen={chosen?.value === known?.value ? chosen : known}
      onChange={(department) => {
        setChosen(department)
        onChange(department && Number(department.value))
      }}
    />
  )
}

const MAX_SHOWN = 20

/** Returns the request for the departments of the clinic that match a name. */
export function useFindDepartments() {
  const clinicId = useClinicId()
  return (search: string): OptionsRequest => ({
    queryKey: ['departments', clinicId, 'choice', search],
    queryFn: async () => {
      const query = {
        tenant_id: clinicId,
        limit: MAX_SHOWN,
        sort_by: 'name' as const,
        ...(search && { search }),
      }
      const { items } = await take(api.GET('/api/admin/departments', { params: { query } }))
      return items.map(({ id, name }) => ({ value: String(id), label: name }))
    },
  })
}
