import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { linkToOpen, useListState, useOpenRecord } from '../../parts/list/list-state.ts'
import { ListTable } from '../../parts/list/list-table.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Empty } from '../../parts/states.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { useWaitingCount } from '../../shell/waiting.tsx'
import { formatTotal } from '../../words/numbers.ts'
import { isAdministrator } from '../../words/roles.ts'
import { BulkActs, useBulkDialog } from './bulk-acts.tsx'
import { useChosenUsers } from './chosen-users.ts'
import type { User } from './data.ts'
import { userColumns } from './user-columns.tsx'
import { UserFilters } from './user-filters.tsx'
import { type UserListState, userListOptions, useUserPage } from './user-list.ts'
import { usersTexts as texts } from './users.texts.ts'
import './users.css'

const UserPanel = lazy(() => import('./user-panel.tsx'))

const AddUser = lazy(() => import('./add-user.tsx'))

/** The page with the list of a clinic's users, and the panel of the open user beside the list. */
export function Page() {
  const list: UserListState = useListState(userListOptions)
  const page = useUserPage(list)
  const open = useOpenRecord()
  const rows = page.data?.items
  const known = { user: rows?.find(({ id }) => id === open.id), at: page.dataUpdatedAt }
  return (
    <>
      <PageHead
        title={texts.title}
        count={page.data && formatTotal(page.data)}
        actions={<HeadActions />}
      />
      <UserFilters list={list} rows={rows} />
      <div className="split">
        <UserTable list={list} page={page} openId={open.id} />
        <Suspense>
          {open.id !== undefined && <UserPanel id={open.id} known={known} onClose={open.close} />}
        </Suspense>
      </div>
    </>
  )
}

function HeadActions() {
  const [isAdding, setAdding] = useState(false)
  const person = usePersonHere()
  const clinicId = useClinicId()
  const waiting = useWaitingCount()
  if (!isAdministrator(person.role)) return null
  return (
    <>
      <Link className="button" to={addressOf({ path: '/users/approvals' }, person, clinicId)}>
        {waiting ? texts.approvals(waiting) : texts.noneWaiting}
      </Link>
      <button type="button" className="primary" onClick={() => setAdding(true)}>
        {texts.add}
      </button>
      <Suspense>{isAdding && <AddUser onClose={() => setAdding(false)} />}</Suspense>
    </>
  )
}

interface UserTableProps {
  readonly list: UserListState
  readonly page: ReturnType<typeof useUserPage>
  readonly openId: number | undefined
}

function UserTable({ list, page, openId }: UserTableProps) {
  const { role } = usePersonHere()
  const clinicId = useClinicId()
  const view = JSON.stringify([clinicId, list.filters, list.sort, list.position, list.limit])
  const chosen = useChosenUsers(view, page.data?.items)
  const bulk = useBulkDialog(chosen)
  return (
    <>
      <ListTable
        list={list}
        query={page}
        caption={texts.caption}
        columns={userColumns}
        idOf={({ id }: User) => String(id)}
        nameOf={({ full_name }) => full_name}
        linkOf={({ id }) => linkToOpen(id)}
        openId={openId === undefined ? undefined : String(openId)}
        nothingFound={texts.nothingFound}
        empty={<Empty title={texts.empty}>{texts.emptyBody}</Empty>}
        {...(isAdministrator(role) && {
          choosing: {
            selection: chosen.selection,
            onChange: chosen.onChange,
            isPageOnly: true,
            actions: <BulkActs acts={['block', 'unblock', 'endSessions']} onAsk={bulk.ask} />,
          },
        })}
      />
      {bulk.dialog}
    </>
  )
}
