import { useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { ConfirmFinal } from '../../parts/confirm-final.tsx'
import { closeThenFocus, focusHeading } from '../../parts/focus-heading.ts'
import { JobProgress } from '../../parts/jobs/job-progress.tsx'
import { viewOf } from '../../parts/jobs/job-view.ts'
import { TrackedJob } from '../../parts/jobs/tracked-job.tsx'
import { isOver, type ServiceJob } from '../../parts/jobs/use-job.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import type { Tone } from '../../words/statuses.ts'
import { type EncryptionKeys, useEncryption, useRotation, useWaitsFor } from './data.ts'
import { encryptionTexts } from './encryption.texts.ts'
import { History } from './history.tsx'
import './encryption.css'

const texts = encryptionTexts.rotation

/** The keys of the installation: their age, the rotation with its progress, and what is left on old keys. */
export function Page() {
  const query = useEncryption()
  const latest = query.data?.rotations[0]
  const isRunning = latest !== undefined && !isOver(latest)
  return (
    <>
      <PageHead
        title={encryptionTexts.title}
        actions={query.data && !isRunning && <Rotate hasFailed={latest?.status === 'failed'} />}
      />
      <div className="stack">
        <QueryState query={query}>
          {({ rotations, keys }) => (
            <>
              <Rotation latest={latest} keys={keys} />
              <div className="key-cards">
                <CurrentKeys keys={keys} />
                <OldKeys keys={keys} isRunning={isRunning} />
              </div>
              <History rotations={rotations} />
            </>
          )}
        </QueryState>
      </div>
    </>
  )
}

/** The button that rotates the keys after a confirmation, or resumes a rotation that failed. */
function Rotate({ hasFailed }: { hasFailed: boolean }) {
  const { rotate, reload } = useRotation()
  const [isAsking, setAsking] = useState(false)
  const title = hasFailed ? texts.resume : texts.rotate
  return (
    <>
      <button type="button" className="primary" onClick={() => setAsking(true)}>
        {title}
      </button>
      {isAsking && (
        <ConfirmFinal
          title={title}
          name={texts.word}
          act={rotate}
          onDone={() => {
            // The button is gone while the rotation runs.
            closeThenFocus(() => setAsking(false), focusHeading)
            showToast(texts.started)
            void reload()
          }}
          onCancel={() => setAsking(false)}
        >
          <div className="stack tight">
            <p>{hasFailed ? texts.resumeBody : texts.body}</p>
            <p>{texts.backups}</p>
          </div>
        </ConfirmFinal>
      )}
    </>
  )
}

interface RotationProps {
  readonly latest: ServiceJob | undefined
  readonly keys: EncryptionKeys
}

/** The latest rotation: its progress, and whether its result still holds. */
function Rotation({ latest, keys }: RotationProps) {
  const { reload } = useRotation()
  return (
    <section className="card" aria-labelledby="rotation">
      <header>
        <h2 id="rotation">{texts.title}</h2>
      </header>
      <div className="card-body stack tight">
        {latest === undefined ? (
          <p className="muted">{texts.never}</p>
        ) : isOver(latest) ? (
          <div className="stack">
            <JobProgress job={viewOf(latest, false)} />
            {latest.status === 'completed' && <p>{isClean(keys) ? texts.result : texts.undone}</p>}
          </div>
        ) : (
          <>
            <TrackedJob key={latest.job_id} id={latest.job_id} onOver={() => void reload()} />
            <Running job={latest} />
          </>
        )}
      </div>
    </section>
  )
}

/** The rate of a running rotation, and the transaction for which it waits. */
function Running({ job: { rate } }: { job: ServiceJob }) {
  const { data: waiting } = useWaitsFor()
  return (
    <>
      {rate !== null && <p className="muted">{texts.rate(rate)}</p>}
      {waiting && (
        <div className="stack tight">
          <ToneBadge tone="attention">{texts.waits}</ToneBadge>
          <p>
            <bdi>{texts.waitsBody(waiting.application, waiting.pid)}</bdi> {texts.open}{' '}
            <Ago at={waiting.since} />.
          </p>
        </div>
      )}
    </>
  )
}

function CurrentKeys({
  keys: { root_key, key_encryption_key, data_keys },
}: {
  keys: EncryptionKeys
}) {
  const words = encryptionTexts.keys
  return (
    <section className="card" aria-labelledby="keys">
      <header>
        <h2 id="keys">{words.title}</h2>
      </header>
      <div className="card-body stack">
        <div>
          <h3>{words.root}</h3>
          <p>
            <code>{root_key.fingerprint}</code>
          </p>
          <p className="muted">
            {words.created} <Ago at={root_key.created_at} />. {words.rootHint}{' '}
            {root_key.former > 0 && words.former(root_key.former)}
          </p>
        </div>
        <div>
          <h3>{words.kek}</h3>
          <p>{words.number(key_encryption_key.key_id)}</p>
          <p className="muted">
            {words.created} <Ago at={key_encryption_key.created_at} />. {words.kekHint}
          </p>
        </div>
        <div>
          <h3>{words.data}</h3>
          <p>{words.current(data_keys.current)}</p>
          <p className="muted">
            {words.oldest} <Ago at={data_keys.oldest_created_at} />. {words.dataHint}
          </p>
        </div>
      </div>
    </section>
  )
}

interface OldKeysProps {
  readonly keys: EncryptionKeys
  readonly isRunning: boolean
}

/** Shows whether anything is left on old keys. */
function OldKeys({ keys, isRunning }: OldKeysProps) {
  const { key_encryption_key, data_keys } = keys
  const words = encryptionTexts.proof
  const [tone, title, body] = stateOfOldKeys(keys, isRunning)
  const times = [data_keys.last_destroyed_at, key_encryption_key.last_destroyed_at]
  const lastDestroyed = times.reduce((a, b) => ((a ?? '') > (b ?? '') ? a : b), null)
  return (
    <section className="card" aria-labelledby="old-keys">
      <header>
        <h2 id="old-keys">{words.title}</h2>
      </header>
      <div className="card-body stack">
        <div role="status">
          <ToneBadge tone={tone}>{title}</ToneBadge>
          <p className="muted">{body}</p>
        </div>
        <dl className="facts">
          <dt>{words.destroyed}</dt>
          <dd>{words.destroyedCounts(data_keys.destroyed, key_encryption_key.destroyed)}</dd>
          <dt>{words.last}</dt>
          <dd>
            <Ago at={lastDestroyed} />
          </dd>
        </dl>
      </div>
    </section>
  )
}

const storedKeys = ({ data_keys, key_encryption_key }: EncryptionKeys): number =>
  data_keys.retired + key_encryption_key.retired

const isClean = (keys: EncryptionKeys): boolean =>
  keys.records_on_old_keys === 0 && storedKeys(keys) === 0

/** Returns the tone, title and explanation. While a rotation runs, its progress is the only figure. */
function stateOfOldKeys(
  keys: EncryptionKeys,
  isRunning: boolean,
): readonly [Tone, title: string, body: string] {
  const words = encryptionTexts.proof
  if (isRunning) return ['waiting', words.running, words.runningBody]
  const { records_on_old_keys: left } = keys
  if (left > 0) return ['attention', words.left(left), words.leftBody]
  return isClean(keys)
    ? ['ok', words.clean, words.cleanBody]
    : ['waiting', words.stored(storedKeys(keys)), words.storedBody]
}
