import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { Ago } from '../../parts/ago.tsx'
import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { closeThenFocus, focusHeading } from '../../parts/focus-heading.ts'
import { Form } from '../../parts/form.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { Field } from '../../parts/form-fields.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { accountTexts } from './account.texts.ts'
import { useLinkMessenger, useMessenger, useUnlinkMessenger } from './data.ts'

const texts = accountTexts.messenger

type Status = Schemas['MessengerStatus']

/** The chat that receives messages about the account. Its state loads when the card is opened. */
export function Messenger() {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>{texts.title}</h2>
      </summary>
      {isOpen && <Chat />}
    </details>
  )
}

function Chat() {
  return (
    <div className="card-body stack">
      <QueryState query={useMessenger()}>
        {(status) => (status.enabled ? <ChatState status={status} /> : <p>{texts.noBot}</p>)}
      </QueryState>
    </div>
  )
}

function ChatState({ status }: { status: Status }) {
  return (
    <>
      <p className="muted">{texts.lead}</p>
      <ToneBadge tone={status.linked ? 'ok' : 'off'}>
        {status.linked ? texts.linked : texts.notLinked}
      </ToneBadge>
      {status.linked ? <LinkedChat status={status} /> : <LinkForm bot={status.bot_username} />}
    </>
  )
}

const MAX_CODE_LENGTH = 64

function LinkForm({ bot }: { bot: string | null }) {
  const link = useLinkMessenger()
  return (
    <Form
      onSubmit={async (read) => {
        await link(read('code'))
        showToast(texts.linkDone)
      }}
      submit={texts.link}
      busy={texts.linking}
      explain={explain}
    >
      <p>
        {texts.start}{' '}
        {bot === null ? (
          texts.bot
        ) : (
          <span className="account-bot">
            <b>@{bot}</b> <CopyButton text={`@${bot}`} label={texts.copyBot} />
          </span>
        )}
      </p>
      <Field
        name="code"
        label={texts.code}
        hint={texts.codeHint}
        missing={texts.codeMissing}
        maxLength={MAX_CODE_LENGTH}
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        data-secret=""
        required
      />
    </Form>
  )
}

function explain({ code, status }: ApiError) {
  if (code === 'chat_linked') return faultAt('code', texts.taken)
  return (code === 'link_code_invalid' || status === 422) && faultAt('code', texts.invalid)
}

function LinkedChat({ status }: { status: Status }) {
  const [isAsking, setAsking] = useState(false)
  const unlink = useUnlinkMessenger(() => {
    // Moves the focus to the heading, because the button that opened the dialog disappears when the chat is unlinked.
    closeThenFocus(() => setAsking(false), focusHeading)
    showToast(texts.unlinked)
  })
  return (
    <>
      <dl className="facts">
        <dt>{texts.chat}</dt>
        <dd>{status.username === null ? texts.nameless : <bdi>@{status.username}</bdi>}</dd>
        <dt>{texts.since}</dt>
        <dd>
          <Ago at={status.linked_at} />
        </dd>
        <dt>{texts.events}</dt>
        <dd>{texts.eventCount(status.events.length)}</dd>
      </dl>
      <div className="row">
        <button type="button" className="danger" onClick={() => setAsking(true)}>
          {texts.unlink}
        </button>
      </div>
      {isAsking && (
        <ConfirmDanger
          title={texts.unlink}
          isBusy={unlink.isPending}
          error={unlink.error}
          onConfirm={() => unlink.mutate()}
          onCancel={() => setAsking(false)}
        >
          <p>{texts.unlinkBody}</p>
        </ConfirmDanger>
      )}
    </>
  )
}
