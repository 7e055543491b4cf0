import { useCallback, useRef, useState } from 'react'
import { ApiError } from '../../api/problem.ts'
import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { ConfirmFinal } from '../../parts/confirm-final.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { KeysDialog } from '../../parts/keys-dialog.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Palette } from '../../parts/palette.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { showToast } from '../../parts/toasts.ts'
import { Section } from './section.tsx'

const kinds = ['Dialog', 'ConfirmDanger', 'ConfirmFinal', 'Palette', 'Keyboard shortcuts'] as const
type Kind = (typeof kinds)[number]

/** Shows dialogs, menus and messages. */
export function DialogSection() {
  const [open, setOpen] = useState<Kind>()
  const close = () => setOpen(undefined)
  return (
    <Section title="Dialog, ConfirmDanger, Palette, Menu, Toast">
      <div className="row">
        {kinds.map((kind) => (
          <button key={kind} type="button" onClick={() => setOpen(kind)}>
            {kind}
          </button>
        ))}
        <button
          type="button"
          onClick={() => showToast('Blocked Dalia Lindqvist.', () => showToast('Unblocked.'))}
        >
          Toast
        </button>
        <Menu
          items={[
            { label: 'Replace secret', icon: 'key', onSelect: () => showToast('Replaced.') },
            { label: 'Make a backup', icon: 'backups', onSelect: () => showToast('Started.') },
          ]}
        >
          Menu
        </Menu>
      </div>
      <OpenDialog kind={open} onClose={close} />
    </Section>
  )
}

function OpenDialog({ kind, onClose }: { kind: Kind | undefined; onClose: () => void }) {
  switch (kind) {
    case undefined:
      return null
    case 'Dialog':
      return (
        <Dialog title="Rename Cardiology" onClose={onClose}>
          <p>Its 14 members see the new name at once.</p>
          <DialogActions>
            <button type="button" className="primary" onClick={onClose}>
              Rename Cardiology
            </button>
          </DialogActions>
        </Dialog>
      )
    case 'ConfirmDanger':
      return (
        <ConfirmDanger title="Block Nora Pfleger" onConfirm={onClose} onCancel={onClose}>
          <p>Signs out 3 sessions within a second. Anyone with your role can unblock.</p>
        </ConfirmDanger>
      )
    case 'ConfirmFinal':
      return <MadeUpRestore onClose={onClose} />
    case 'Palette':
      return <MadeUpPalette onClose={onClose} />
    case 'Keyboard shortcuts':
      return <KeysDialog onClose={onClose} />
  }
}

/** A final act that needs a confirmed session, as the service would refuse it. */
function MadeUpRestore({ onClose }: { onClose: () => void }) {
  const isConfirmed = useRef(false)
  const confirm = async () => {
    isConfirmed.current = true
  }
  const act = async () => {
    if (!isConfirmed.current)
      throw new ApiError({ status: 403, code: 'reauth_required', detail: 'Enter your password.' })
  }
  return (
    <ConfirmFinal
      title="Restore Demo Clinic"
      name="demo"
      act={act}
      confirm={confirm}
      onDone={onClose}
      onCancel={onClose}
    >
      <p>Everyone is signed out, including you. Changes since 10:00 are kept in a backup.</p>
    </ConfirmFinal>
  )
}

const found = [
  { id: 'users', label: 'Users', icon: 'users' },
  { id: 'audit', label: 'Audit log', icon: 'audit' },
  { id: 'webhooks', label: 'Webhooks', icon: 'webhooks' },
] as const

function MadeUpPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const search = useCallback((typed: string) => setText(typed.toLowerCase()), [])
  const items = found
    .filter(({ label }) => label.toLowerCase().includes(text))
    .map((item) => ({ ...item, onChoose: () => showToast(`Opened ${item.label}.`) }))
  return (
    <Palette
      label="Search people, departments and pages"
      groups={[{ label: 'Pages', items }]}
      isSearching={false}
      onSearch={search}
      onClose={onClose}
    />
  )
}

/** Shows a secret that is displayed only once. */
export function SecretSection() {
  return (
    <Section title="SecretOnce">
      <div className="card gallery-padded">
        <SecretOnce
          label="Secret of the webhook"
          value="whsec_made-up/0000000000000000000000000000"
          fileName="webhook-secret.txt"
          onKept={() => showToast('Kept.')}
        />
      </div>
    </Section>
  )
}
