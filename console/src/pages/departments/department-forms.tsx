/** The dialogs that add and change a department. */
import { useState } from 'react'
import type { ApiError } from '../../api/problem.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { Field } from '../../parts/form-fields.tsx'
import { readChosenId } from '../../parts/search-combobox-field.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { MAX_NAME_LENGTH } from '../../words/limits.ts'
import { type Department, useDepartmentCommands } from './data.ts'
import { departmentTexts as texts } from './departments.texts.ts'
import { HEAD_FIELD, HeadField } from './head-field.tsx'

interface AddDepartmentProps {
  readonly onAdded: (department: Department) => void
  readonly onClose: () => void
}

/** Adds a department. */
export function AddDepartment({ onAdded, onClose }: AddDepartmentProps) {
  const clinicId = useClinicId()
  const { add } = useDepartmentCommands(clinicId)
  return (
    <FormDialog
      title={texts.add.open}
      draft={`departments/${clinicId}/add`}
      submit={texts.add.open}
      busy={texts.add.busy}
      explain={explain}
      onSubmit={async (read) => {
        const added = await add({
          name: read('name').trim(),
          head_doctor_id: readChosenId(read(HEAD_FIELD)),
        })
        showToast(texts.add.done(added.name))
        return added
      }}
      onSent={onAdded}
      onClose={onClose}
    >
      <NameField focused />
      <HeadField />
    </FormDialog>
  )
}

interface ChangeProps {
  readonly department: Department
  readonly onClose: () => void
}

/** Renames a department. */
export function RenameDepartment({ department, onClose }: ChangeProps) {
  const [{ id, name, members }] = useState(department)
  const { update, undo } = useDepartmentCommands(useClinicId())
  return (
    <FormDialog
      title={texts.rename.title(name)}
      draft={`departments/${id}/rename`}
      submit={texts.rename.submit}
      busy={texts.saving}
      explain={explain}
      onSubmit={async (read) => {
        const changed = await update(id, { name: read('name').trim() })
        if (changed.name === name) return
        showToast(texts.rename.done(changed.name), () =>
          undo(id, { name }, texts.rename.undone(name)),
        )
      }}
      onSent={onClose}
      onClose={onClose}
    >
      <NameField defaultValue={name} hint={texts.rename.body(members)} focused />
    </FormDialog>
  )
}

/** Changes or removes the head of a department. */
export function ChangeHead({ department, onClose }: ChangeProps) {
  const [{ id, name, head_doctor_id: head }] = useState(department)
  const { update, undo } = useDepartmentCommands(useClinicId())
  return (
    <FormDialog
      title={texts.changeHead.title(name)}
      draft={`departments/${id}/head`}
      submit={texts.changeHead.submit}
      busy={texts.saving}
      onSubmit={async (read) => {
        const changed = await update(id, { head_doctor_id: readChosenId(read(HEAD_FIELD)) })
        if (changed.head_doctor_id === head) return
        showToast(headMessage(changed), () =>
          undo(id, { head_doctor_id: head }, texts.changeHead.undone),
        )
      }}
      onSent={onClose}
      onClose={onClose}
    >
      <HeadField department={department} />
    </FormDialog>
  )
}

function headMessage({ name, head_doctor_name: head }: Department): string {
  return head === null ? texts.changeHead.removed(name) : texts.changeHead.done(head, name)
}

interface NameFieldProps {
  readonly defaultValue?: string
  readonly hint?: string
  readonly focused?: boolean
}

function NameField(props: NameFieldProps) {
  return (
    <Field
      name="name"
      label={texts.name}
      missing={texts.nameMissing}
      maxLength={MAX_NAME_LENGTH}
      autoComplete="off"
      required
      {...props}
    />
  )
}

const explain = ({ code }: ApiError) =>
  code === 'department_name_taken' && faultAt('name', texts.nameTaken)
