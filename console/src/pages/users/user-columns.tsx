import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table/index.ts'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { roleNames } from '../../words/roles.ts'
import type { User } from './data.ts'
import { usersTexts } from './users.texts.ts'

const texts = usersTexts.columns

/** Text that is at most one line long. The full text is shown when the pointer rests on it. */
export function UserText({ text }: { text: string }) {
  return (
    <bdi className="user-text" title={text}>
      {text}
    </bdi>
  )
}

/** The column with the name of the user, which links to the record. */
export const nameColumn: Column<User> = {
  id: 'full_name',
  label: texts.name,
  render: ({ full_name }) => <bdi className="user-name">{full_name}</bdi>,
  isSortable: true,
  rank: 1,
}

/** The column of the role. */
export const roleColumn: Column<User> = {
  id: 'role',
  label: texts.role,
  render: ({ role }) => roleNames[role],
  isSortable: true,
  rank: 1,
}

/** The column of the department. */
export const departmentColumn: Column<User> = {
  id: 'department',
  label: texts.department,
  render: ({ department_name }) =>
    department_name === null ? (
      <span className="muted">{usersTexts.noDepartment}</span>
    ) : (
      <UserText text={department_name} />
    ),
}

/** The columns of the list of users. */
export const userColumns: readonly Column<User>[] = [
  nameColumn,
  {
    id: 'email',
    label: texts.email,
    render: ({ email }) => <UserText text={email} />,
    isSortable: true,
  },
  roleColumn,
  departmentColumn,
  {
    id: 'status',
    label: texts.status,
    render: ({ status }) => <StatusBadge kind="user" state={status} />,
    rank: 1,
  },
  {
    id: 'factor',
    label: texts.factor,
    render: ({ totp_enabled }) => <StatusBadge kind="factor" state={totp_enabled ? 'on' : 'off'} />,
  },
  {
    id: 'last_login_at',
    label: texts.lastSignIn,
    render: ({ last_login_at }) => <Ago at={last_login_at} />,
  },
]
