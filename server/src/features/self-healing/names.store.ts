/** The SQL for the current names of the records and people that findings and repairs refer to. */
import { sql } from 'kysely'
import { ofScope, type TenantTx } from '../../platform/db/index.ts'
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
  const users = [
    ...userIds,
    ...findings.flatMap((finding) => peopleIn(finding).map(([, id]) => id)),
  ]
  const departments = findings.flatMap(({ subject }) => DEPARTMENT.exec(subject)?.[1] ?? [])
  const { rows } = await sql<{ key: string; name: string }>`
    select 'user ' || id as key, full_name as name from users
    where id = any(${users}::bigint[]) and ${ofScope(tx, 'tenant_id')}
    union all
    select 'department ' || id, name from departments
    where id = any(${departments}::bigint[]) and ${ofScope(tx, 'tenant_id')}`.execute(tx.db)
  const names = new Map(rows.map(({ key, name }) => [key, name]))
  const ofUser = (id: number | null) => names.get(`user ${id}`) ?? null
  return {
    ofUser,
    ofSubject: ({ subject }) => (DEPARTMENT.test(subject) ? (names.get(subject) ?? null) : null),
    ofPeople: (finding) =>
      Object.fromEntries(
        peopleIn(finding).flatMap(([field, id]) => {
          const name = ofUser(id)
          return name === null ? [] : [[field, name]]
        }),
      ),
  }
}

const peopleIn = ({ measured }: Shown): (readonly [field: string, id: number])[] =>
  USER_FIELDS.flatMap((field) => {
    const id = measured[field]
    return typeof id === 'number' && Number.isSafeInteger(id) ? [[field, id] as const] : []
  })
