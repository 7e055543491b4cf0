import { useMutation } from '@tanstack/react-query'
import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { ConfirmFinal } from '../../parts/confirm-final.tsx'
import { closeThenFocus } from '../../parts/focus-heading.ts'
import { showToast } from '../../parts/toasts.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { actTexts } from './acts.texts.ts'
import { ChangeRole } from './change-role.tsx'
import { type User, userChanges, useUserSessions } from './data.ts'
import { EditUser } from './edit-user.tsx'
import { focusPanel } from './focus-panel.ts'
import { Refusal } from './refusal.tsx'
import { SetPassword } from './set-password.tsx'
import { report } from './use-restore.ts'
import type { UserAct } from './user-act.ts'

interface UserActDialogProps {
  readonly act: UserAct
  readonly user: User
  readonly onClose: () => void
  readonly onDeleted: () => void
}

/** The dialog of a change to a user. */
export default function UserActDialog({ act, user, onClose, onDeleted }: UserActDialogProps) {
  if (act === 'edit') return <EditUser user={user} onClose={onClose} />
  if (act === 'changeRole') return <ChangeRole user={user} onClose={onClose} />
  if (act === 'setPassword') return <SetPassword user={user} onClose={onClose} />
  if (act === 'delete' && user.status === 'pending')
    return <Refusal user={user} onClose={onClose} onDone={onDeleted} onDecided={focusPanel} />
  if (act === 'delete') return <DeleteUser user={user} onClose={onClose} onDeleted={onDeleted} />
  if (act === 'removeFactor') return <RemoveFactor user={user} onClose={onClose} />
  return <ConfirmAct act={act} user={user} onClose={onClose} />
}

type ConfirmedAct = 'block' | 'invite' | 'endSessions'

const requests: Readonly<Record<ConfirmedAct, (id: number) => Promise<unknown>>> = {
  block: userChanges.block,
  invite: userChanges.invite,
  endSessions: userChanges.endSessions,
}

interface ActProps {
  readonly user: User
  readonly onClose: () => void
}

function ConfirmAct({ act, user, onClose }: ActProps & { act: ConfirmedAct }) {
  const reload = useReloadClinic()
  const words = useWords(act, user)
  const unblock = () =>
    void report(userChanges.unblock(user.id), actTexts.unblocked(user.full_name)).then(() =>
      reload(),
    )
  const change = useMutation({
    mutationFn: () => requests[act](user.id),
    onSuccess: () => {
      onClose()
      showToast(words.done, act === 'block' ? unblock : undefined)
      reload()
    },
  })
  return (
    <ConfirmDanger
      title={words.title}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onCancel={onClose}
    >
      <p>{words.body}</p>
    </ConfirmDanger>
  )
}

function useWords(act: ConfirmedAct, { id, full_name, email, role }: User) {
  const sessions = useUserSessions(id).data?.length
  const texts = actTexts.confirm
  if (act === 'invite')
    return {
      title: texts.invite.title(),
      body: texts.invite.body(email),
      done: texts.invite.done(email),
    }
  const { title, body, done } = texts[act]
  const isDoctor = role === 'doctor'
  return { title: title(full_name), body: body(sessions, isDoctor), done: done(full_name) }
}

function RemoveFactor({ user, onClose }: ActProps) {
  const reload = useReloadClinic()
  const sessions = useUserSessions(user.id).data?.length
  const texts = actTexts.confirm.removeFactor
  const finish = () => {
    onClose()
    showToast(texts.done(user.full_name))
    reload()
  }
  return (
    <ConfirmFinal
      title={texts.title()}
      name={user.email}
      act={() => userChanges.removeFactor(user.id)}
      onDone={finish}
      onCancel={onClose}
    >
      <p>{texts.body(sessions)}</p>
    </ConfirmFinal>
  )
}

interface DeleteUserProps extends ActProps {
  readonly onDeleted: () => void
}

function DeleteUser({ user, onClose, onDeleted }: DeleteUserProps) {
  const reload = useReloadClinic()
  const sessions = useUserSessions(user.id).data?.length
  const texts = actTexts.remove
  const finish = () => {
    closeThenFocus(onClose, onDeleted)
    showToast(texts.done(user.full_name))
    reload({ name: 'users', id: user.id })
  }
  return (
    // The reader types the e-mail address, because two people may have the same name.
    <ConfirmFinal
      title={texts.title(user.full_name)}
      name={user.email}
      needsPassword={false}
      act={() => userChanges.remove(user.id)}
      onDone={finish}
      onCancel={onClose}
    >
      <p>{texts.body(sessions)}</p>
    </ConfirmFinal>
  )
}
