import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { Ago } from '../../parts/ago.tsx'
import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { closeThenFocus } from '../../parts/focus-heading.ts'
import { QueryState } from '../../parts/query-state.tsx'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { deviceName } from '../account/device.ts'
import { endUserSession, type User, useUserSessions } from './data.ts'
import { focusPanel } from './focus-panel.ts'
import { panelTexts } from './panel.texts.ts'

const texts = panelTexts.sessions

type Session = Schemas['Session']

/** The sessions of a user, with a button to end each session. */
export function SessionsTab({ user }: { user: User }) {
  const query = useUserSessions(user.id)
  const [chosen, setChosen] = useState<Session>()
  return (
    <QueryState query={query}>
      {(sessions) => (
        <>
          {sessions.length === 0 && <p className="muted">{texts.none}</p>}
          <ul className="panel-list">
            {sessions.map((session) => (
              <SessionItem key={session.jti} session={session} onEnd={() => setChosen(session)} />
            ))}
          </ul>
          {chosen && (
            <EndSession user={user} session={chosen} onClose={() => setChosen(undefined)} />
          )}
        </>
      )}
    </QueryState>
  )
}

function SessionItem({ session, onEnd }: { session: Session; onEnd: () => void }) {
  const device = deviceName(session.user_agent)
  return (
    <li className="row">
      <div className="grow">
        <b title={session.user_agent ?? undefined}>{device}</b>
        {session.ip && <div className="mono muted">{session.ip}</div>}
        <div className="small muted">
          {texts.startedAgo} <Ago at={new Date(session.created_at * 1000).toISOString()} />,{' '}
          {texts.lastUsed} <Ago at={session.last_used_at} />
        </div>
      </div>
      {session.current ? (
        <ToneBadge tone="ok">{texts.current}</ToneBadge>
      ) : (
        <button type="button" aria-label={texts.endOf(device)} onClick={onEnd}>
          {texts.end}
        </button>
      )}
    </li>
  )
}

interface EndSessionProps {
  readonly user: User
  readonly session: Session
  readonly onClose: () => void
}

function EndSession({ user, session, onClose }: EndSessionProps) {
  const reload = useReloadClinic()
  const end = useMutation({
    mutationFn: () => endUserSession(user.id, session.jti),
    onSuccess: () => {
      // Moves the focus to the panel, because the button of an ended session disappears with its row.
      closeThenFocus(onClose, focusPanel)
      showToast(texts.ended)
      reload()
    },
  })
  return (
    <ConfirmDanger
      title={texts.end}
      isBusy={end.isPending}
      error={end.error}
      onConfirm={() => end.mutate()}
      onCancel={onClose}
    >
      <p>{texts.endBody(deviceName(session.user_agent))}</p>
    </ConfirmDanger>
  )
}
