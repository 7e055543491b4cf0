import { useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { failureSentence } from '../../parts/form-faults.ts'
import { TrackedJob } from '../../parts/jobs/tracked-job.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { Empty } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { formatDayClock } from '../../words/dates.ts'
import {
  isGoing,
  useReplays,
  useWebhookCommands,
  type WebhookDetails,
  type WebhookReplay,
} from './data.ts'
import { ReplayButtons } from './replay-dialog.tsx'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.replays

/** The replays of a webhook with their progress, latest first. */
export function Replays({ webhook }: { webhook: WebhookDetails }) {
  const query = useReplays(useClinicId(), webhook.id)
  const { reload } = useWebhookCommands(useClinicId())
  return (
    <div className="stack">
      <ReplayButtons webhook={webhook} />
      <QueryState query={query}>
        {(replays) => {
          const running = replays.find(({ state }) => state === 'running')
          return (
            <>
              {running && (
                <TrackedJob key={running.id} id={`replay-${running.id}`} onOver={reload} />
              )}
              {replays.length === 0 ? (
                <Empty title={texts.empty}>{texts.emptyBody}</Empty>
              ) : (
                <ReplayTable replays={replays} />
              )}
            </>
          )
        }}
      </QueryState>
    </div>
  )
}

function ReplayTable({ replays }: { replays: readonly WebhookReplay[] }) {
  return (
    <div className="data">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll the table */}
      <section className="card data-scroll" tabIndex={0} aria-label={texts.title}>
        <table>
          <caption className="hidden">{texts.title}</caption>
          <thead>
            <tr>
              <th scope="col">{texts.by}</th>
              <th scope="col">{texts.kind}</th>
              <th scope="col">{texts.period}</th>
              <th scope="col">{webhookTexts.state}</th>
              <th scope="col">{texts.found}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {replays.map((replay) => (
              <ReplayRow key={replay.id} replay={replay} />
            ))}
          </tbody>
        </table>
      </section>
    </div>
  )
}

const shortTime = (at: string) => formatDayClock(new Date(at))

function ReplayRow({ replay }: { replay: WebhookReplay }) {
  const { created_at, only_failed, since, until, state, delivered, failed, waiting } = replay
  const { found } = replay
  const share = found === 0 ? 0 : Math.min(1, (delivered + failed) / found)
  return (
    <tr>
      <th scope="row">
        <Ago at={created_at} />
      </th>
      <td>{only_failed ? texts.onlyFailed : texts.all}</td>
      <td>
        {shortTime(since)} – {shortTime(until)}
      </td>
      <td>
        <StatusBadge kind="replay" state={isGoing(replay) ? 'running' : state} />
      </td>
      <td>
        {isGoing(replay) && (
          <progress className="replay-bar" value={share} aria-label={texts.found} />
        )}{' '}
        {texts.progress(delivered, failed, waiting)}
      </td>
      <td>{isGoing(replay) && state !== 'running' && <Cancel replay={replay} />}</td>
    </tr>
  )
}

function Cancel({ replay: { id, webhook_id } }: { replay: WebhookReplay }) {
  const { cancelReplay, reload } = useWebhookCommands(useClinicId())
  const [isBusy, setBusy] = useState(false)
  const cancel = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      await cancelReplay(webhook_id, id)
      showToast(texts.cancelled)
    } catch (error) {
      showToast(failureSentence(error))
      reload()
    }
    setBusy(false)
  }
  return (
    <button type="button" aria-disabled={isBusy} onClick={() => void cancel()}>
      {texts.cancel}
    </button>
  )
}
