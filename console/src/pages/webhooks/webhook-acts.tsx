/** The actions on one webhook. */
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { showToast } from '../../parts/toasts.ts'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { ChangeWebhook, ReplaceSecret } from './change-webhook.tsx'
import { useWebhookCommands, type WebhookDetails } from './data.ts'
import { TestWebhook } from './test-webhook.tsx'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.acts
const secretTexts = webhookTexts.secret

type Act = 'test' | 'change' | 'pause' | 'activate' | 'secret' | 'withdraw' | 'remove'

/** The buttons of a webhook's page, and the dialogs that they open. */
export function WebhookActs({ webhook }: { webhook: WebhookDetails }) {
  const [act, setAct] = useState<Act>()
  const close = () => setAct(undefined)
  const items: readonly [Act, string][] = [
    ['change', webhookTexts.form.change],
    ['secret', secretTexts.replace],
    ...(webhook.previous_secret_until ? [['withdraw', secretTexts.withdraw] as const] : []),
    webhook.is_active ? ['pause', texts.pause] : ['activate', texts.activate],
    ['remove', texts.remove],
  ].map(([name, label]) => [name as Act, label as string])
  return (
    <>
      <button type="button" onClick={() => setAct('test')}>
        {texts.test}
      </button>
      <Menu
        label={texts.more}
        items={items.map(([name, label]) => ({ label, onSelect: () => setAct(name) }))}
      >
        <Icon name="more" />
      </Menu>
      {act === 'test' && <TestWebhook id={webhook.id} onClose={close} />}
      {act === 'change' && <ChangeWebhook webhook={webhook} onClose={close} />}
      {act === 'secret' && <ReplaceSecret webhook={webhook} onClose={close} />}
      {act && act in QUESTIONS && (
        <Question act={act as keyof typeof QUESTIONS} webhook={webhook} onClose={close} />
      )}
    </>
  )
}

const QUESTIONS = { pause: true, activate: true, withdraw: true, remove: true } as const

interface QuestionProps {
  readonly act: keyof typeof QUESTIONS
  readonly webhook: WebhookDetails
  readonly onClose: () => void
}

/** Asks before an act that stops or resumes messages, or deletes them. */
function Question({ act, webhook, onClose }: QuestionProps) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const navigate = useNavigate()
  const commands = useWebhookCommands(clinicId)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const { id, url, waiting } = webhook
  const toList = () => navigate({ to: addressOf({ path: '/webhooks' }, person, clinicId) })
  const asked = {
    pause: {
      title: texts.pause,
      body: texts.pauseBody,
      done: texts.paused,
      run: () => commands.change(id, { is_active: false }),
    },
    activate: {
      title: texts.activate,
      body: texts.activateBody,
      done: texts.activated,
      run: () => commands.change(id, { is_active: true }),
    },
    withdraw: {
      title: secretTexts.withdraw,
      body: secretTexts.withdrawBody,
      done: secretTexts.withdrawn,
      run: () => commands.withdraw(id),
    },
    remove: {
      title: texts.removeTitle(new URL(url).host),
      body: texts.removeBody(waiting),
      done: texts.removed,
      run: () => commands.remove(id).then(toList),
    },
  }[act]
  const confirm = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await asked.run()
      showToast(asked.done)
      onClose()
    } catch (reason) {
      setError(reason)
      setBusy(false)
    }
  }
  return (
    <ConfirmDanger
      title={asked.title}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void confirm()}
      onCancel={onClose}
    >
      <p>{asked.body}</p>
    </ConfirmDanger>
  )
}
