import { ConfirmFinal } from '../../parts/confirm-final.tsx'
import { closeThenFocus, focusHeading } from '../../parts/focus-heading.ts'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { type Department, useDepartmentCommands } from './data.ts'
import { departmentTexts } from './departments.texts.ts'
import { MembersLink } from './members-link.tsx'

const texts = departmentTexts.remove

interface RemoveDepartmentProps {
  readonly department: Department
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/**
 * Asks for confirmation before a department is deleted. Its members and patients are kept, but the department cannot be
 * restored.
 */
export function RemoveDepartment({ department, onRemoved, onClose }: RemoveDepartmentProps) {
  const { id, name, members } = department
  const { remove } = useDepartmentCommands(useClinicId())
  const finish = () => {
    closeThenFocus(onClose, focusHeading)
    showToast(texts.done(name))
    onRemoved()
  }
  return (
    <ConfirmFinal
      title={texts.title(name)}
      name={name}
      needsPassword={false}
      act={() => remove(id)}
      onDone={finish}
      onCancel={onClose}
    >
      <div className="stack tight">
        <p>
          {texts.membersStay(members)} {texts.patientsStay}
        </p>
        <p>
          {texts.advice}{' '}
          {members > 0 && <MembersLink department={department}>{texts.showMembers}</MembersLink>}
        </p>
      </div>
    </ConfirmFinal>
  )
}
