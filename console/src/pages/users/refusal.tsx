import { useMutation } from '@tanstack/react-query'
import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { closeThenFocus } from '../../parts/focus-heading.ts'
import { showToast } from '../../parts/toasts.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { actTexts } from './acts.texts.ts'
import { AlreadyDecided, type User, userChanges } from './data.ts'

const texts = actTexts.remove

interface RefusalProps {
  readonly user: User
  readonly onClose: () => void
  /** Called after the service has deleted the registration. */
  readonly onDone: () => void
  /** Called when someone else has already decided about the registration. */
  readonly onDecided: () => void
}

/** Asks before a registration is refused. */
export function Refusal({ user, onClose, onDone, onDecided }: RefusalProps) {
  const reload = useReloadClinic()
  const refuse = useMutation({
    mutationFn: () => userChanges.refuse(user.id),
    onSuccess: () => {
      closeThenFocus(onClose, onDone)
      showToast(texts.refused(user.full_name))
      reload({ name: 'users', id: user.id })
    },
    onError: (error) => {
      if (!(error instanceof AlreadyDecided)) return
      closeThenFocus(onClose, onDecided)
      showToast(error.message)
      reload()
    },
  })
  return (
    <ConfirmDanger
      title={texts.refuseTitle(user.full_name)}
      isBusy={refuse.isPending}
      error={refuse.error}
      onConfirm={() => refuse.mutate()}
      onCancel={onClose}
    >
      <p>{texts.refuseBody(user.email_verified)}</p>
    </ConfirmDanger>
  )
}
