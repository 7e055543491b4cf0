/** The dialogs that change a webhook and its secret. */
import { useState } from 'react'
import { Dialog } from '../../parts/dialog.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { SecretField, UrlField } from './add-webhook.tsx'
import { useWebhookCommands, type WebhookDetails } from './data.ts'
import { EventPicker, useEventChoice } from './event-picker.tsx'
import { NewSecret } from './new-secret.tsx'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.secret

interface ChangeProps {
  readonly webhook: WebhookDetails
  readonly onClose: () => void
}

/** Changes the address and the events of a webhook. */
export function ChangeWebhook({ webhook, onClose }: ChangeProps) {
  const [{ id, url, events }] = useState(webhook)
  const { change } = useWebhookCommands(useClinicId())
  const choice = useEventChoice(events)
  return (
    <FormDialog
      title={webhookTexts.form.change}
      submit={webhookTexts.form.change}
      busy={webhookTexts.saving}
      onSubmit={async (read) => {
        await change(id, { url: read('url').trim(), events: choice.events })
        showToast(webhookTexts.form.changed)
      }}
      onSent={onClose}
      onClose={onClose}
    >
      <UrlField defaultValue={url} focused />
      <EventPicker choice={choice} />
    </FormDialog>
  )
}

/** Replaces the secret of a webhook by one that the user chooses, or by a new one, which is shown once. */
export function ReplaceSecret({ webhook: { id }, onClose }: ChangeProps) {
  const { change } = useWebhookCommands(useClinicId())
  const [made, setMade] = useState<string>()
  if (made)
    return (
      <Dialog title={texts.title} isBusy onClose={() => undefined}>
        <NewSecret secret={made} onKept={onClose} />
      </Dialog>
    )
  return (
    <FormDialog
      title={texts.replace}
      lead={<p>{texts.replaceBody}</p>}
      submit={texts.replace}
      busy={webhookTexts.saving}
      onSubmit={async (read) => {
        const own = read('secret')
        const secret = own || newSecret()
        await change(id, { secret })
        showToast(texts.replaced)
        return own ? undefined : secret
      }}
      onSent={(secret) => (secret ? setMade(secret) : onClose())}
      onClose={onClose}
    >
      <SecretField />
    </FormDialog>
  )
}

const SECRET_BYTES = 32

/** Creates a secret in the form of Standard Webhooks. */
function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  return `whsec_${btoa(String.fromCharCode(...bytes))}`
}
