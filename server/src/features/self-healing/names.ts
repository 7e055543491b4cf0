/** The current names of the records and people that findings and repairs refer to. */
import type { TenantTx } from '../../platform/db/index.ts'
import { findNames } from '../audit/index.ts'
import type { Shown } from './detect/findings.store.ts'

/** The fields of evidence that contain the id of a user. */
const USER_FIELDS = ['head_doctor_id']
const DEPARTMENT = /^department (\d{1,15})$/

/** Looks up names that the transaction may see. Deleted records have none. */
export interface HealingNames {
  ofSubject(finding: Shown): string | null
  /** Returns the names of the users in the evidence, by field. */
  ofPeople(finding: Shown): Record<string, string>
  ofUser(id: number | null): string | null
}

/** @param userIds users to look up besides those in the findings */
export async function findHealingNames(
  tx: TenantTx,
  findings: readonly Shown[],
  userIds: readonly number[],
): Promise<HealingNames> {
  const users = [...userIds, ...findings.flatMap(peopleIn).map(({ id }) => id)]
  const departments = findings.flatMap((finding) => departmentOf(finding) ?? [])
  const nameOf = await findNames(tx, [
    ...users.map((id) => ({ type: 'user', id })),
    ...departments.map((id) => ({ type: 'department', id })),
  ])
  return {
    ofUser: (id) => nameOf('user', id),
    ofSubject: (finding) => nameOf('department', departmentOf(finding)),
    ofPeople: (finding) =>
      Object.fromEntries(
        peopleIn(finding).flatMap(({ field, id }) => {
          const name = nameOf('user', id)
          return name === null ? [] : [[field, name]]
        }),
      ),
  }
}

const departmentOf = ({ subject }: Shown): string | null => DEPARTMENT.exec(subject)?.[1] ?? null

const peopleIn = ({ measured }: Shown): { field: string; id: number }[] =>
  USER_FIELDS.flatMap((field) => {
    const id = measured[field]
    return typeof id === 'number' && Number.isSafeInteger(id) ? [{ field, id }] : []
  })
