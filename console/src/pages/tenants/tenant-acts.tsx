import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { ConfirmFinal } from '../../parts/confirm-final.tsx'
import { closeThenFocus, focusHeading, useFocusAfterRemoval } from '../../parts/focus-heading.ts'
import { failureSentence } from '../../parts/form-faults.ts'
import { showToast } from '../../parts/toasts.ts'
import { type Clinic, stateOf, useClinicCommands } from './data.ts'
import { tenantTexts as texts } from './tenants.texts.ts'

type Act = 'deactivate' | 'remove' | 'restore'

interface TenantActsProps {
  readonly clinic: Clinic
  /** Called once the clinic has left the list of its status. */
  readonly onGone: () => void
}

/** The buttons for the changes of a clinic. */
export function TenantActs({ clinic, onGone }: TenantActsProps) {
  const [act, setAct] = useState<Act>()
  const state = stateOf(clinic)
  const open = (chosen: Act, className?: string) => (
    <OpenAct act={chosen} className={className} onOpen={() => setAct(chosen)} />
  )
  const dialog = { clinic, onClose: () => setAct(undefined), onGone }
  return (
    <>
      {state === 'active' && open('deactivate')}
      {state === 'inactive' && <Activate clinic={clinic} />}
      {state === 'deleted'
        ? clinic.restorable_until !== null && open('restore', 'primary')
        : open('remove', 'danger')}
      {act === 'deactivate' && <Deactivate {...dialog} />}
      {act === 'remove' && <Remove {...dialog} />}
      {act === 'restore' && <Restore {...dialog} />}
    </>
  )
}

interface OpenActProps {
  readonly act: Act
  readonly className: string | undefined
  readonly onOpen: () => void
}

function OpenAct({ act, className, onOpen }: OpenActProps) {
  useFocusAfterRemoval()
  return (
    <button type="button" className={className} onClick={onOpen}>
      {texts[act].open}
    </button>
  )
}

function Activate({ clinic: { id, name } }: { clinic: Clinic }) {
  useFocusAfterRemoval()
  const { setActive } = useClinicCommands()
  const change = useMutation({
    mutationFn: () => setActive(id, true),
    onSuccess: () => showToast(texts.activate.done(name)),
    onError: (error) => showToast(failureSentence(error)),
  })
  return (
    <button
      type="button"
      className="primary"
      aria-disabled={change.isPending}
      onClick={() => !change.isPending && change.mutate()}
    >
      {texts.activate.open}
    </button>
  )
}

interface DialogProps {
  readonly clinic: Clinic
  readonly onClose: () => void
  readonly onGone: () => void
}

function Deactivate({ clinic: { id, name, users_count }, onClose }: DialogProps) {
  const { setActive } = useClinicCommands()
  const change = useMutation({
    mutationFn: () => setActive(id, false),
    onSuccess: () => {
      onClose()
      showToast(texts.deactivate.done(name))
    },
  })
  return (
    <ConfirmDanger
      title={texts.deactivate.title(name)}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onCancel={onClose}
    >
      <p>{texts.deactivate.body(users_count)}</p>
    </ConfirmDanger>
  )
}

function Restore({ clinic: { id, name }, onClose, onGone }: DialogProps) {
  const { restore } = useClinicCommands()
  const change = useMutation({
    mutationFn: () => restore(id),
    onSuccess: () => {
      closeThenFocus(onClose, focusHeading)
      showToast(texts.restore.done(name))
      onGone()
    },
  })
  return (
    <ConfirmDanger
      title={texts.restore.title(name)}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onCancel={onClose}
    >
      <p>{texts.restore.body}</p>
    </ConfirmDanger>
  )
}

function Remove({ clinic, onClose, onGone }: DialogProps) {
  const { id, name, subdomain, users_count } = clinic
  const { remove } = useClinicCommands()
  const finish = () => {
    closeThenFocus(onClose, focusHeading)
    showToast(texts.remove.done(name))
    onGone()
  }
  return (
    // The reader types the subdomain, because two clinics may have the same name.
    <ConfirmFinal
      title={texts.remove.title(name)}
      name={subdomain}
      act={() => remove(id)}
      onDone={finish}
      onCancel={onClose}
    >
      <div className="stack tight">
        <p>{texts.remove.body(users_count)}</p>
        <p>{texts.remove.way}</p>
      </div>
    </ConfirmFinal>
  )
}
