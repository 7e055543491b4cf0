import { useState } from 'react'
import { ConfirmTrouble } from '../../parts/confirm-parts.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { troubleOfError } from '../../parts/form-faults.ts'
import { useChangeSearch } from '../../parts/list/list-state.ts'
import { TimeRange } from '../../parts/time-range.tsx'
import type { TimeRangeValue } from '../../parts/time-ranges.ts'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { commonTexts } from '../../words/common.texts.ts'
import { useReplayCount, useWebhookCommands, type WebhookDetails } from './data.ts'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.replays

/** The buttons that send many messages again. */
export function ReplayButtons({ webhook }: { webhook: WebhookDetails }) {
  const [asked, setAsked] = useState<'failed' | 'all'>()
  return (
    <div className="row">
      <button type="button" onClick={() => setAsked('failed')}>
        {texts.retryFailed}
      </button>
      <button type="button" onClick={() => setAsked('all')}>
        {texts.replay}
      </button>
      {asked && (
        <ReplayDialog
          webhook={webhook}
          onlyFailed={asked === 'failed'}
          onClose={() => setAsked(undefined)}
        />
      )}
    </div>
  )
}

interface ReplayDialogProps {
  readonly webhook: WebhookDetails
  readonly onlyFailed: boolean
  readonly onClose: () => void
}

/** Asks for the period of a replay, counts its messages, and starts it. */
function ReplayDialog({ webhook, onlyFailed, onClose }: ReplayDialogProps) {
  const [range, setRange] = useState<TimeRangeValue>({ range: '24h' })
  // The count and the replay use the same period, although time passes between them.
  const [now] = useState(() => new Date())
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const changeSearch = useChangeSearch()
  const { replay } = useWebhookCommands(useClinicId())
  const order = { range, only_failed: onlyFailed }
  const count = useReplayCount(webhook.id, order, now)
  const found = count.isPlaceholderData ? undefined : count.data
  const start = async () => {
    if (isBusy || !found?.count) return
    setBusy(true)
    setError(undefined)
    try {
      await replay(webhook.id, order, now)
      showToast(texts.started)
      onClose()
      changeSearch({ view: 'replays', open: undefined })
    } catch (reason) {
      setError(reason)
    }
    setBusy(false)
  }
  return (
    <Dialog
      title={onlyFailed ? texts.retryTitle : texts.replayTitle}
      isBusy={isBusy}
      onClose={onClose}
    >
      <div className="stack">
        <p>{onlyFailed ? texts.retryBody : texts.replayBody}</p>
        <TimeRange value={range} onChange={setRange} />
        <p role="status">
          <Count count={found} isFailed={count.isError} />
        </p>
        {onlyFailed && found?.count === 0 && webhook.is_active && (
          <p className="muted">{webhookTexts.why.sentAfterTest}</p>
        )}
      </div>
      <ConfirmTrouble trouble={troubleOfError(error ?? count.error ?? undefined)} />
      <DialogActions>
        <button type="button" aria-disabled={isBusy} onClick={() => !isBusy && onClose()}>
          {commonTexts.cancel}
        </button>
        <button
          type="button"
          className="primary"
          aria-disabled={isBusy || !found?.count}
          onClick={() => void start()}
        >
          {texts.send(found?.count ?? 0, found?.is_minimum ?? false)}
        </button>
      </DialogActions>
    </Dialog>
  )
}

interface CountProps {
  readonly count: { count: number; is_minimum: boolean } | undefined
  readonly isFailed: boolean
}

function Count({ count, isFailed }: CountProps) {
  if (isFailed) return null
  if (!count) return texts.counting
  return count.count === 0 ? texts.nothing : texts.count(count.count, count.is_minimum)
}
