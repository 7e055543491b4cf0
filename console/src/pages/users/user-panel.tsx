import { Link, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { ApiError } from '../../api/problem.ts'
import { Avatar } from '../../parts/avatar.tsx'
import { rowLinkId } from '../../parts/data-table/index.ts'
import { focusHeading } from '../../parts/focus-heading.ts'
import { useChangeSearch } from '../../parts/list/list-state.ts'
import { choiceParameter, readParameters } from '../../parts/list/parameters.ts'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { Empty } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { type User, useUser } from './data.ts'
import { panelTexts as texts } from './panel.texts.ts'
import { AccessTab, ProfileTab } from './panel-facts.tsx'
import { HistoryTab } from './panel-history.tsx'
import { SessionsTab } from './panel-sessions.tsx'
import { rightsOver, type UserRights } from './rights.ts'
import { UserActs } from './user-acts.tsx'

const TABS = ['profile', 'access', 'sessions', 'history'] as const

type TabId = (typeof TABS)[number]

interface UserPanelProps {
  readonly id: number
  /** The user as the list shows it, and the time of the list's response. */
  readonly known: { readonly user: User | undefined; readonly at: number }
  readonly onClose: () => void
}

/** The panel of the open user beside the list. */
export default function UserPanel({ id, known, onClose }: UserPanelProps) {
  const query = useUser(id, known)
  const person = usePersonHere()
  const clinicId = useClinicId()
  const isMissing =
    (query.error instanceof ApiError && query.error.status === 404) ||
    (query.data !== undefined && query.data.tenant_id !== clinicId)
  const user = isMissing ? undefined : query.data
  const deletion = useDeletion(onClose)
  const rights = user && rightsOver(user, person)
  return (
    <Panel
      title={user?.full_name ?? (isMissing ? texts.missingTitle : texts.loading)}
      subtitle={user?.email}
      mark={user && <Avatar name={user.full_name} isLarge />}
      onClose={onClose}
      returnFocusTo={deletion.isOver ? '' : rowLinkId(String(id))}
      actions={
        user &&
        (rights === 'all' || rights === 'own') && (
          <UserActs key={id} user={user} rights={rights} onDeleted={deletion.end} />
        )
      }
    >
      {isMissing ? (
        <Empty title={texts.missingTitle}>{texts.missing}</Empty>
      ) : (
        <QueryState query={query}>
          {(data) => <UserTabs user={data} rights={rightsOver(data, person)} />}
        </QueryState>
      )}
    </Panel>
  )
}

/** Closes the panel of a deleted user. The row disappears as well, so the focus moves to the title of the page. */
function useDeletion(onClose: () => void) {
  const [isOver, setOver] = useState(false)
  useEffect(() => (isOver ? focusHeading : undefined), [isOver])
  const end = () => {
    setOver(true)
    onClose()
  }
  return { isOver, end }
}

function UserTabs({ user, rights }: { user: User; rights: UserRights }) {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false })
  const change = useChangeSearch()
  const shown = TABS.filter((tab) => tab !== 'sessions' || rights === 'all' || rights === 'own')
  const content: Readonly<Record<TabId, () => React.ReactNode>> = {
    profile: () => <ProfileTab user={user} />,
    access: () => <AccessTab user={user} />,
    sessions: () => <SessionsTab key={user.id} user={user} />,
    history: () => <HistoryTab user={user} />,
  }
  const { tab = 'profile' } = readParameters({ tab: choiceParameter(shown) }, search)
  return (
    <>
      <RightsNote rights={rights} />
      <Tabs
        label={texts.tabsLabel}
        selected={tab}
        onSelect={(next) => change({ tab: next === 'profile' ? undefined : next })}
        tabs={shown.map((id) => ({
          id,
          label: texts.tabs[id],
          // Only the selected tab sends its request.
          content: id === tab && content[id](),
        }))}
      />
    </>
  )
}

function RightsNote({ rights }: { rights: UserRights }) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  if (rights === 'superadmin') return <p className="panel-note muted">{texts.superadmin}</p>
  if (rights !== 'own') return null
  return (
    <p className="panel-note muted">
      {texts.own}{' '}
      <Link to={addressOf({ path: '/account' }, person, clinicId)}>{texts.ownLink}</Link>.
    </p>
  )
}
