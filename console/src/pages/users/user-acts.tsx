import { lazy, Suspense, useState } from 'react'
import { Icon } from '../../parts/icon.tsx'
import { useShortcuts } from '../../parts/keys.ts'
import { Menu, type MenuItem } from '../../parts/menu.tsx'
import { actTexts as texts } from './acts.texts.ts'
import type { User } from './data.ts'
import type { UserRights } from './rights.ts'
import { useRestore } from './use-restore.ts'
import type { UserAct } from './user-act.ts'

const UserActDialog = lazy(() => import('./user-act-dialog.tsx'))

interface UserActsProps {
  readonly user: User
  readonly rights: UserRights
  /** Called once the user is deleted. */
  readonly onDeleted: () => void
}

/** The buttons for the changes that the reader may make to a user. */
export function UserActs({ user, rights, onDeleted }: UserActsProps) {
  const [act, setAct] = useState<UserAct>()
  useShortcuts([{ keys: 'e', label: texts.edit, run: () => setAct('edit') }])
  return (
    <>
      {rights === 'all' && <MainAct user={user} onAct={setAct} />}
      <button type="button" onClick={() => setAct('edit')}>
        {texts.edit}
      </button>
      {rights === 'all' && (
        <>
          <button type="button" onClick={() => setAct('changeRole')}>
            {texts.changeRole}
          </button>
          <Menu label={texts.more(user.full_name)} items={menuItems(user, setAct)}>
            <Icon name="more" />
          </Menu>
        </>
      )}
      <Suspense>
        {act && (
          <UserActDialog
            act={act}
            user={user}
            onClose={() => setAct(undefined)}
            onDeleted={onDeleted}
          />
        )}
      </Suspense>
    </>
  )
}

/** The main change for the status of a user: block, unblock or approve. */
function MainAct({ user, onAct }: { user: User; onAct: (act: UserAct) => void }) {
  const restore = useRestore()
  if (user.status === 'active')
    return (
      <button type="button" className="danger" onClick={() => onAct('block')}>
        {texts.block}
      </button>
    )
  return (
    <button type="button" className="primary" onClick={() => restore(user)}>
      {user.status === 'pending' ? texts.approve : texts.unblock}
    </button>
  )
}

function menuItems(user: User, onAct: (act: UserAct) => void): MenuItem[] {
  const item = (act: UserAct, label: string, isOffered = true): MenuItem[] =>
    isOffered ? [{ label, onSelect: () => onAct(act) }] : []
  const isPending = user.status === 'pending'
  return [
    ...item('invite', texts.invite, !user.email_verified),
    ...item('setPassword', texts.setPassword),
    ...item('removeFactor', texts.removeFactor, user.totp_enabled),
    ...item('endSessions', texts.endSessions, !isPending),
    ...item('delete', isPending ? texts.refuse : texts.delete),
  ]
}
