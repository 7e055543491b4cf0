import { SearchComboboxField } from '../../parts/search-combobox-field.tsx'
import { actTexts } from './acts.texts.ts'
import { useFindDepartments } from './department-choice.tsx'

const texts = actTexts.form

interface DepartmentFieldProps {
  /** The id of the initial department. */
  readonly value?: number | undefined
  readonly valueName?: string | undefined
}

/** The form field for a department. It sends the id as `department_id`, or nothing. */
export function DepartmentField({ value, valueName }: DepartmentFieldProps) {
  return (
    <SearchComboboxField
      name="department_id"
      label={texts.department}
      noneLabel={texts.noDepartment}
      find={useFindDepartments()}
      initial={value === undefined ? undefined : { value: String(value), label: valueName ?? '' }}
    />
  )
}
