import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table/index.ts'
import { focusHeading } from '../../parts/focus-heading.ts'
import { pageQuery } from '../../parts/list/list-search.ts'
import { useListState } from '../../parts/list/list-state.ts'
import { ListTable, useListPage } from '../../parts/list/list-table.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Empty } from '../../parts/states.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatTotal } from '../../words/numbers.ts'
import { approvalsTexts as texts } from './approvals.texts.ts'
import { BulkActs, useBulkDialog } from './bulk-acts.tsx'
import { useChosenUsers } from './chosen-users.ts'
import type { User } from './data.ts'
import { Refusal } from './refusal.tsx'
import { useRestore } from './use-restore.ts'
import { departmentColumn, nameColumn, roleColumn, UserText } from './user-columns.tsx'
import { usersTexts } from './users.texts.ts'
import './users.css'

/** The interval of refreshes while the page is visible. They show the decisions of other administrators. */
const REFRESH_MS = 60_000

const SORTABLE = ['created_at', 'full_name', 'email', 'role'] as const

const listOptions = {
  filters: {},
  sortable: SORTABLE,
  sort: { column: 'created_at', direction: 'asc' },
} as const

/** The page of users who have registered and wait for approval. The user who has waited longest comes first. */
export function Page() {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const users = addressOf({ path: '/users' }, person, clinicId)
  const list = useListState(listOptions)
  const page = usePending(list)
  const view = JSON.stringify([clinicId, list.sort, list.position, list.limit])
  const chosen = useChosenUsers(view, page.data?.items)
  const bulk = useBulkDialog(chosen)
  const [refused, setRefused] = useState<User>()
  const rows = page.data?.items ?? []
  const approve = useApprove(rows)
  return (
    <>
      <PageHead
        title={texts.title}
        count={page.data && formatTotal(page.data)}
        actions={
          <Link className="button" to={users}>
            {texts.back}
          </Link>
        }
      />
      <ListTable
        list={list}
        query={page}
        caption={texts.caption}
        columns={[...columns, decisionColumn(approve, setRefused)]}
        idOf={({ id }) => String(id)}
        nameOf={({ full_name }) => full_name}
        linkOf={({ id }) => ({ to: users, search: () => ({ open: id }) })}
        choosing={{
          selection: chosen.selection,
          onChange: chosen.onChange,
          isPageOnly: true,
          actions: <BulkActs acts={['approve', 'refuse']} onAsk={bulk.ask} />,
        }}
        empty={<Empty title={texts.empty}>{texts.emptyBody}</Empty>}
      />
      {bulk.dialog}
      {refused && (
        <Refusal
          user={refused}
          onClose={() => setRefused(undefined)}
          onDone={() => focusNext(rows, refused)}
          onDecided={() => focusNext(rows, refused)}
        />
      )}
    </>
  )
}

function usePending(list: ReturnType<typeof useListState<Record<never, never>>>) {
  const clinicId = useClinicId()
  const query = {
    tenant_id: clinicId,
    status: 'pending' as const,
    ...pageQuery(list),
    sort_by: SORTABLE.find((column) => column === list.sort.column) ?? SORTABLE[0],
    sort_order: list.sort.direction,
  }
  return useListPage(
    'users',
    clinicId,
    query,
    () => take(api.GET('/api/admin/users', { params: { query } })),
    REFRESH_MS,
  )
}

/** Returns a function that approves a user and moves the focus to another registration. */
function useApprove(rows: readonly User[]): (user: User) => Promise<void> {
  const restore = useRestore()
  return async (user) => {
    if (await restore(user)) focusNext(rows, user)
  }
}

const approveId = (id: number): string => `approve-${id}`

/** Moves the focus to the next registration. After the last registration, moves the focus to the previous one. */
function focusNext(rows: readonly User[], decided: User): void {
  const at = rows.findIndex(({ id }) => id === decided.id)
  const next = rows[at + 1] ?? rows[at - 1]
  const button = next && document.getElementById(approveId(next.id))
  if (button) button.focus()
  else focusHeading()
}

const columns: readonly Column<User>[] = [
  nameColumn,
  {
    id: 'email',
    label: usersTexts.columns.email,
    render: ({ email }) => <UserText text={email} />,
    isSortable: true,
  },
  {
    id: 'email_verified',
    label: texts.confirmed,
    render: ({ email_verified }) => (email_verified ? texts.yes : texts.notYet),
  },
  roleColumn,
  departmentColumn,
  {
    id: 'created_at',
    label: texts.since,
    render: ({ created_at }) => <Ago at={created_at} />,
    isSortable: true,
  },
]

function decisionColumn(
  onApprove: (user: User) => Promise<void>,
  onRefuse: (user: User) => void,
): Column<User> {
  return {
    id: 'decision',
    label: texts.acts,
    render: (user) => (
      <span className="decision">
        <button
          type="button"
          id={approveId(user.id)}
          aria-label={texts.approveOf(user.full_name)}
          onClick={() => void onApprove(user)}
        >
          {texts.approve}
        </button>
        <button
          type="button"
          className="link"
          aria-label={texts.refuseOf(user.full_name)}
          onClick={() => onRefuse(user)}
        >
          {texts.refuse}
        </button>
      </span>
    ),
  }
}
