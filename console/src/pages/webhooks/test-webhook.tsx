import { useQuery } from '@tanstack/react-query'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { commonTexts } from '../../words/common.texts.ts'
import { useWebhookCommands } from './data.ts'
import { advice, resultWords } from './webhook-state.ts'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.acts

/** Sends a test to the receiver, and shows its response. */
export function TestWebhook({ id, onClose }: { id: number; onClose: () => void }) {
  const { test } = useWebhookCommands(useClinicId())
  const query = useQuery({
    queryKey: ['webhook-test', id],
    queryFn: () => test(id),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  const isBusy = query.isFetching
  return (
    <Dialog title={texts.testTitle} onClose={onClose}>
      <div role="status" className="stack tight">
        {isBusy ? (
          <p>{texts.testing}</p>
        ) : (
          <QueryState query={query}>{(result) => <Result result={result} />}</QueryState>
        )}
      </div>
      <DialogActions>
        <button type="button" onClick={onClose}>
          {commonTexts.close}
        </button>
        <button
          type="button"
          className="primary"
          aria-disabled={isBusy}
          onClick={() => !isBusy && void query.refetch()}
        >
          {texts.again}
        </button>
      </DialogActions>
    </Dialog>
  )
}

type TestResult = Awaited<ReturnType<ReturnType<typeof useWebhookCommands>['test']>>

function Result({ result }: { result: TestResult }) {
  const { delivered, duration_ms, status_code, response_body } = result
  const help = advice(result)
  return (
    <>
      <p>
        <ToneBadge tone={delivered ? 'ok' : 'failed'}>
          {delivered ? texts.accepted(duration_ms) : texts.refused}
        </ToneBadge>
      </p>
      {!delivered && (
        <p>
          <b>
            {status_code === null
              ? resultWords(result)
              : webhookTexts.why.answered(String(status_code))}
          </b>{' '}
          {help}
        </p>
      )}
      {response_body && (
        <>
          <p className="small muted">{webhookTexts.deliveries.response}</p>
          <pre className="mono code" dir="auto">
            {response_body}
          </pre>
        </>
      )}
    </>
  )
}
