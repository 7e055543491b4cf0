import { Ago } from '../../parts/ago.tsx'
import { isOver, type ServiceJob } from '../../parts/jobs/use-job.ts'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { commonTexts } from '../../words/common.texts.ts'
import { formatDuration } from '../../words/dates.ts'
import { formatNumber } from '../../words/numbers.ts'
import { encryptionTexts } from './encryption.texts.ts'

const texts = encryptionTexts.history

/** The past rotations, the newest first. */
export function History({ rotations }: { rotations: readonly ServiceJob[] }) {
  return (
    <section className="card" aria-labelledby="history">
      <header>
        <h2 id="history">{texts.title}</h2>
      </header>
      {rotations.length === 0 ? (
        <p className="card-body muted">{texts.none}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a wide table
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend
        <div className="scroll" role="group" tabIndex={0} aria-labelledby="history">
          <table className="plain-table">
            <caption className="hidden">{texts.title}</caption>
            <thead>
              <tr>
                <th scope="col">{texts.started}</th>
                <th scope="col">{texts.status}</th>
                <th scope="col" className="number">
                  {texts.records}
                </th>
                <th scope="col">{texts.took}</th>
                <th scope="col">{texts.by}</th>
              </tr>
            </thead>
            <tbody>
              {rotations.map((rotation) => (
                <Row key={rotation.job_id} rotation={rotation} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function Row({ rotation }: { rotation: ServiceJob }) {
  const { created_at, finished_at, status, done, total, created_by_email, error } = rotation
  const seconds = finished_at && (Date.parse(finished_at) - Date.parse(created_at)) / 1000
  return (
    <tr>
      <th scope="row">
        <Ago at={created_at} />
      </th>
      <td>
        <StatusBadge kind="rotation" state={status} />
        {error && <div className="rotation-error small muted">{error}</div>}
      </td>
      <td className="number">
        {isOver(rotation) ? formatNumber(done ?? 0) : commonTexts.none}
        {status === 'failed' && ` / ${formatNumber(total ?? 0)}`}
      </td>
      <td>{seconds === null || seconds === '' ? commonTexts.none : formatDuration(seconds)}</td>
      <td>
        <bdi className="rotation-by">{created_by_email ?? texts.service}</bdi>
      </td>
    </tr>
  )
}
