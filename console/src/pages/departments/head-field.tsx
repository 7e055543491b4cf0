import { SearchComboboxField } from '../../parts/search-combobox-field.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { type Department, doctorsRequest } from './data.ts'
import { departmentTexts as texts } from './departments.texts.ts'

/** The name of the field in the API. */
export const HEAD_FIELD = 'head_doctor_id'

/** Lets users choose a head doctor among the active doctors of the clinic. */
export function HeadField({ department }: { department?: Department }) {
  const clinicId = useClinicId()
  return (
    <SearchComboboxField
      name={HEAD_FIELD}
      label={texts.head}
      hint={texts.headHint}
      noneLabel={texts.noHead}
      find={(text) => doctorsRequest(clinicId, text)}
      initial={headOf(department)}
    />
  )
}

function headOf(department: Department | undefined) {
  const id = department?.head_doctor_id
  return id ? { value: String(id), label: department.head_doctor_name ?? '' } : undefined
}
