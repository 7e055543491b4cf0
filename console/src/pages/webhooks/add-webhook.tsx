import { useState } from 'react'
import { Dialog } from '../../parts/dialog.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Field } from '../../parts/form-fields.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { useWebhookCommands } from './data.ts'
import { EventPicker, useEventChoice } from './event-picker.tsx'
import { NewSecret } from './new-secret.tsx'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.form

const MAX_URL_LENGTH = 2048
const MIN_SECRET_LENGTH = 16
const MAX_SECRET_LENGTH = 512

interface AddWebhookProps {
  readonly onAdded: (id: number) => void
  readonly onClose: () => void
}

/** Adds a webhook, and then shows its secret once, unless the user has chosen the secret. */
export function AddWebhook({ onAdded, onClose }: AddWebhookProps) {
  const { add } = useWebhookCommands(useClinicId())
  const choice = useEventChoice(['*'])
  const [made, setMade] = useState<{ id: number; secret: string }>()
  if (made)
    return (
      <Dialog title={webhookTexts.secret.title} isBusy onClose={() => undefined}>
        <NewSecret secret={made.secret} onKept={() => onAdded(made.id)} />
      </Dialog>
    )
  return (
    <FormDialog
      title={webhookTexts.add}
      submit={webhookTexts.add}
      busy={texts.adding}
      onSubmit={async (read) => {
        const secret = read('secret')
        const added = await add({
          url: read('url').trim(),
          events: choice.events,
          ...(secret && { secret }),
        })
        showToast(texts.added)
        return added
      }}
      onSent={({ id, secret }) => (secret ? setMade({ id, secret }) : onAdded(id))}
      onClose={onClose}
    >
      <UrlField focused />
      <EventPicker choice={choice} />
      <SecretField />
    </FormDialog>
  )
}

/** The address of the receiver. */
export function UrlField(props: { defaultValue?: string; focused?: boolean }) {
  return (
    <Field
      name="url"
      label={texts.url}
      hint={texts.urlHint}
      missing={texts.urlMissing}
      maxLength={MAX_URL_LENGTH}
      inputMode="url"
      autoComplete="off"
      spellCheck={false}
      required
      {...props}
    />
  )
}

/** A secret that the user chooses. Without one, the service creates a secret. */
export function SecretField() {
  return (
    <Field
      name="secret"
      label={texts.own}
      hint={texts.ownHint}
      missing={texts.ownShort}
      minLength={MIN_SECRET_LENGTH}
      maxLength={MAX_SECRET_LENGTH}
      autoComplete="off"
      spellCheck={false}
      data-secret=""
    />
  )
}
