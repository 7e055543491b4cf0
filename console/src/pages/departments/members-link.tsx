import { Link } from '@tanstack/react-router'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatNumber } from '../../words/numbers.ts'
import type { Department } from './data.ts'
import { departmentTexts as texts } from './departments.texts.ts'

interface MembersLinkProps {
  readonly department: Department
  /** The text to show instead of the number of members. */
  readonly children?: string
}

/** The link to the list of a department's members. */
export function MembersLink({ department, children }: MembersLinkProps) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const { id, members, name } = department
  return (
    <Link
      to={addressOf({ path: '/users' }, person, clinicId)}
      search={{ department: id }}
      aria-label={children ? undefined : texts.membersOf(members, name)}
    >
      {children ?? formatNumber(members)}
    </Link>
  )
}
