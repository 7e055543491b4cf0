import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { Ago } from '../../parts/ago.tsx'
import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { closeThenFocus, focusHeading } from '../../parts/focus-heading.ts'
import { QueryState } from '../../parts/query-state.tsx'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { commonTexts } from '../../words/common.texts.ts'
import { accountTexts } from './account.texts.ts'
import { useEndSession, useSessions } from './data.ts'
import { deviceName } from './device.ts'

const texts = accountTexts.sessions

type Session = Schemas['Session']

/** The sessions of the user, each with a button to end it. */
export function Sessions() {
  const sessions = useSessions()
  const [chosen, setChosen] = useState<Session>()
  return (
    <section className="card" aria-labelledby="sessions">
      <header>
        <h2 id="sessions">{texts.title}</h2>
        <span className="muted">{texts.lead}</span>
      </header>
      <QueryState query={sessions}>
        {(list) => <SessionsTable sessions={list} onEnd={setChosen} />}
      </QueryState>
      {chosen && <EndSession session={chosen} onClose={() => setChosen(undefined)} />}
    </section>
  )
}

interface SessionsTableProps {
  readonly sessions: readonly Session[]
  readonly onEnd: (session: Session) => void
}

function SessionsTable({ sessions, onEnd }: SessionsTableProps) {
  return (
    <table className="plain-table sessions-table">
      <caption className="hidden">{texts.title}</caption>
      <thead>
        <tr>
          <th scope="col">{texts.device}</th>
          <th scope="col">{texts.address}</th>
          <th scope="col">{texts.started}</th>
          <th scope="col">{texts.lastUsed}</th>
          <th scope="col" className="number">
            {texts.action}
          </th>
        </tr>
      </thead>
      <tbody>
        {sessions.map((session) => (
          <SessionRow key={session.jti} session={session} onEnd={() => onEnd(session)} />
        ))}
      </tbody>
    </table>
  )
}

function SessionRow({ session, onEnd }: { session: Session; onEnd: () => void }) {
  const device = deviceName(session.user_agent)
  return (
    <tr>
      <th scope="row" title={session.user_agent ?? undefined}>
        {device}
      </th>
      <td className="mono" data-label={texts.address}>
        {session.ip ?? commonTexts.none}
      </td>
      <td data-label={texts.started}>
        <Ago at={new Date(session.created_at * 1000).toISOString()} />
      </td>
      <td data-label={texts.lastUsed}>
        <Ago at={session.last_used_at} />
      </td>
      <td className="number">
        {session.current ? (
          <ToneBadge tone="ok">{texts.current}</ToneBadge>
        ) : (
          <button type="button" aria-label={texts.endOf(device)} onClick={onEnd}>
            {texts.end}
          </button>
        )}
      </td>
    </tr>
  )
}

function EndSession({ session, onClose }: { session: Session; onClose: () => void }) {
  const end = useEndSession(() => {
    // Moves the focus to the heading, because the button that opened the dialog disappears with the session.
    closeThenFocus(onClose, focusHeading)
    showToast(texts.ended)
  })
  return (
    <ConfirmDanger
      title={texts.end}
      isBusy={end.isPending}
      error={end.error}
      onConfirm={() => end.mutate(session.jti)}
      onCancel={onClose}
    >
      <p>{texts.endBody(deviceName(session.user_agent))}</p>
    </ConfirmDanger>
  )
}
