import { useState } from 'react'
import { Icon } from '../../parts/icon.tsx'
import { type IconName, iconPaths } from '../../parts/icons.ts'
import { JobProgress } from '../../parts/jobs/job-progress.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import {
  Empty,
  ErrorState,
  Maintenance,
  NoRight,
  NothingFound,
  StaleBanner,
  TooManyRequests,
} from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { statesOf, statusKinds } from '../../words/statuses.ts'
import { hoursAgo } from './made-up.ts'
import { Section } from './section.tsx'

const ignore = () => undefined
const icons = Object.keys(iconPaths) as IconName[]

/** Shows every state of every kind of record, the icons and the buttons. */
export function WordsSection() {
  return (
    <>
      <Section title="StatusBadge">
        <dl className="facts">
          {statusKinds().map((kind) => (
            <div key={kind} className="gallery-pair">
              <dt>{kind}</dt>
              <dd className="row">
                {statesOf(kind).map((state) => (
                  <StatusBadge key={state} kind={kind} state={state} />
                ))}
              </dd>
            </div>
          ))}
          <div className="gallery-pair">
            <dt>unknown</dt>
            <dd>
              <StatusBadge kind="user" state="a_new_state" />
            </dd>
          </div>
        </dl>
      </Section>
      <Section title="Icon">
        <ul className="row">
          {icons.map((name) => (
            <li key={name} className="gallery-icon">
              <Icon name={name} />
              <span className="small muted">{name}</span>
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Buttons">
        <div className="row">
          <button type="button">Normal</button>
          <button type="button" className="primary">
            Primary
          </button>
          <button type="button" className="danger">
            Danger
          </button>
          <button type="button" className="danger solid">
            Danger, solid
          </button>
          <button type="button" className="link">
            Link
          </button>
          <button type="button" disabled>
            Disabled
          </button>
        </div>
      </Section>
    </>
  )
}

/** The states of a page that cannot show its data. */
export function StatesSection() {
  const [counted, setCounted] = useState(0)
  return (
    <Section title="States of a page">
      <div className="gallery-grid">
        <div className="card">
          <Empty
            title="No webhooks yet"
            action={
              <button type="button" className="primary">
                Add webhook
              </button>
            }
          >
            Other programs learn of changes through them.
          </Empty>
        </div>
        <div className="card">
          <NothingFound onClear={ignore}>Search looks in names and e-mail addresses.</NothingFound>
        </div>
        <div className="card">
          <ErrorState
            detail="Something went wrong. Try again."
            requestId="0196f3c2-6a1e-7c44-9d20-5d8f0b6c1a77"
            onRetry={ignore}
          />
        </div>
        <div className="card">
          <NoRight />
        </div>
        <div className="card">
          <Maintenance />
        </div>
        <div className="card gallery-padded stack">
          <StaleBanner since={new Date(hoursAgo(0.5))} onRetry={ignore} />
          <TooManyRequests
            key={counted}
            seconds={90}
            onEnd={() => setCounted((count) => count + 1)}
          />
          <Skeleton />
        </div>
      </div>
    </Section>
  )
}

/** A job in each of its states. */
export function JobSection() {
  const started = { startedAt: hoursAgo(0.1), startedBy: 'Ada Ministra' }
  return (
    <Section title="JobProgress">
      <div className="gallery-grid">
        <div className="card gallery-padded">
          <JobProgress job={{ state: 'queued', phase: 'Waiting for its turn', ...started }} />
        </div>
        <div className="card gallery-padded">
          <JobProgress
            job={{
              state: 'running',
              phase: 'Re-encrypting patients',
              done: 412,
              total: 900,
              unit: 'records',
              secondsLeft: 180,
              ...started,
            }}
          />
        </div>
        <div className="card gallery-padded">
          <JobProgress job={{ state: 'maintenance', phase: 'Restoring', ...started }} />
        </div>
        <div className="card gallery-padded">
          <JobProgress
            job={{ state: 'completed', phase: 'Restored Demo Clinic', ...started }}
            auditLink={<a href="#audit">Audit entry</a>}
          />
        </div>
        <div className="card gallery-padded">
          <JobProgress
            job={{ state: 'failed', phase: 'The backup file is incomplete', ...started }}
          />
        </div>
      </div>
    </Section>
  )
}
