/** The list of items that need attention. */

import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import type { Overview } from '../../shell/overview.ts'
import { usePersonHere } from '../../shell/person.ts'
import { componentNames } from '../../words/components.texts.ts'
import type { Tone } from '../../words/statuses.ts'
import { usePageAddress } from './data.ts'
import { overviewTexts } from './overview.texts.ts'

const texts = overviewTexts.needs

interface Need {
  readonly key: string
  readonly tone: Tone
  readonly title: string
  readonly detail?: ReactNode
  /** The path of the page that helps with the item. The button is omitted if that page does not exist. */
  readonly path: string
  /** The id of the record, if the page shows one. Replaces `$id` in the path. */
  readonly record?: number
  readonly act?: string
  /** The parameters of the page in the URL. Superadmins also get `of=all`, because their lists are wider. */
  readonly search?: Readonly<Record<string, string>>
  /** True if only the administrators of the clinic can open the page. */
  readonly isOfOwnClinic?: boolean
}

type Attention = Overview['attention']

/** Every item that needs attention, or one line if nothing needs attention. */
export function Needs({ overview }: { overview: Overview }) {
  const { role } = usePersonHere()
  const needs = [
    ...needsOf(overview.attention, role === 'superadmin'),
    // Only superadmins can change the configuration of the service.
    ...(role === 'superadmin' ? health(overview.health) : []),
  ]
  return (
    <section className="card" aria-labelledby="needs">
      <header>
        <h2 id="needs">{texts.title}</h2>
      </header>
      {needs.length === 0 ? (
        <p className="card-body">
          <ToneBadge tone="ok">{texts.nothing}</ToneBadge>
        </p>
      ) : (
        <ul className="needs">
          {needs.map((need) => (
            <NeedItem key={need.key} need={need} />
          ))}
        </ul>
      )}
    </section>
  )
}

function NeedItem({ need }: { need: Need }) {
  const { tone, title, detail, path, record, act = texts.open } = need
  const person = usePersonHere()
  const isForeign = useClinicId() !== person.tenant_id
  const address = usePageAddress()(path)?.replace('$id', String(record))
  const to = need.isOfOwnClinic && isForeign ? undefined : address
  const isWide = person.role === 'superadmin' && need.search !== undefined
  const search = isWide ? { ...need.search, of: 'all' } : need.search
  return (
    <li>
      <div className="grow">
        <ToneBadge tone={tone}>
          <span className="need">{title}</span>
        </ToneBadge>
        {detail && <div className="detail muted">{detail}</div>}
      </div>
      {to && (
        <Link
          to={to}
          {...(search && { search })}
          className="button"
          aria-label={texts.action(act, title)}
        >
          {act}
        </Link>
      )}
    </li>
  )
}

function needsOf(attention: Attention, isOperator: boolean): readonly Need[] {
  return [
    ...registrations(attention.registrations),
    ...webhooks(attention.webhooks),
    ...backups(attention.backups),
    ...jobs(attention.backup_jobs),
    ...repairs(attention.repairs, isOperator),
    ...rotation(attention.key_rotation),
    ...payments(attention.payment_notifications),
  ]
}

/** Returns the description of an event, with its time if known. */
const timed = (what: string, at: string | null): ReactNode =>
  at && (
    <>
      {what} <Ago at={at} />
    </>
  )

function registrations(waiting: Attention['registrations']): readonly Need[] {
  if (!waiting?.count) return []
  const title = texts.registrations(waiting.count)
  const detail = timed(texts.oldest, waiting.oldest_since)
  return [
    {
      key: 'registrations',
      tone: 'waiting',
      title,
      detail,
      path: '/users/approvals',
      act: texts.review,
    },
  ]
}

function webhooks(failing: Attention['webhooks']): readonly Need[] {
  if (!failing?.count) return []
  const path = '/webhooks'
  const named = failing.items.map(({ id, host, reason, since }): Need => {
    const detail = (
      <>
        <bdi>{host}</bdi> {since && <>· {timed(texts.since, since)}</>}
      </>
    )
    return {
      key: `webhook ${id}`,
      tone: 'failed',
      title: texts.webhook[reason],
      detail,
      path: `${path}/$id`,
      record: id,
      isOfOwnClinic: true,
    }
  })
  const others = failing.count - named.length
  if (others <= 0) return named
  const title = texts.moreWebhooks(others)
  return [...named, { key: 'webhooks', tone: 'failed', title, path, isOfOwnClinic: true }]
}

function backups(newest: Attention['backups']): readonly Need[] {
  if (!newest?.is_late) return []
  const detail = newest.created_at ? timed(texts.backupOf, newest.created_at) : texts.backupHelp
  const title = newest.created_at ? texts.backupLate : texts.noBackup
  return [{ key: 'backups', tone: 'attention', title, detail, path: '/backups' }]
}

function jobs(failed: Attention['backup_jobs']): readonly Need[] {
  if (!failed?.count) return []
  const path = '/backups'
  const named = failed.items.map(({ job_id, kind, tenant_id, failed_at }): Need => {
    const detail = (
      <>
        {tenant_id === null && texts.installation} <Ago at={failed_at} />
      </>
    )
    return { key: `job ${job_id}`, tone: 'failed', title: texts.jobs[kind], detail, path }
  })
  const others = failed.count - named.length
  if (others <= 0) return named
  return [...named, { key: 'jobs', tone: 'failed', title: texts.moreJobs(others), path }]
}

function repairs(found: Attention['repairs'], isOperator: boolean): readonly Need[] {
  if (!found?.count) return []
  const tone = found.severity === 'critical' ? 'failed' : 'attention'
  const title = isOperator ? texts.repairs(found.count) : texts.repairsOfClinic(found.count)
  return [{ key: 'repairs', tone, title, detail: found.title, path: '/self-healing' }]
}

function rotation(last: Attention['key_rotation']): readonly Need[] {
  const item = { key: 'rotation', path: '/encryption' }
  if (last?.is_failed) {
    const detail = last.failed_at && <Ago at={last.failed_at} />
    return [{ ...item, tone: 'failed', title: texts.rotation, detail }]
  }
  if (!last?.uses_old_keys) return []
  return [{ ...item, tone: 'attention', title: texts.oldKeys, detail: texts.oldKeysBody }]
}

function health({ components }: Overview['health']): readonly Need[] {
  const failing = components.filter(({ state }) => state !== 'ok')
  if (failing.length === 0) return []
  const detail = failing.map(({ name }) => componentNames[name] ?? name).join(', ')
  return [
    {
      key: 'health',
      tone: 'attention',
      title: texts.health(failing.length),
      detail,
      path: '/health',
    },
  ]
}

function payments(stuck: Attention['payment_notifications']): readonly Need[] {
  if (!stuck) return []
  const detail = timed(texts.oldest, stuck.oldest_since)
  const path = '/payments/notifications'
  const unverified = texts.unverified(stuck.unverified)
  const failed = texts.failedPayments(stuck.failed)
  return [
    ...(stuck.failed > 0
      ? [
          {
            key: 'failed payments',
            tone: 'failed',
            title: failed,
            detail,
            path,
            search: { state: 'failed' },
          } as const,
        ]
      : []),
    ...(stuck.unverified > 0
      ? [
          {
            key: 'unverified',
            tone: 'attention',
            title: unverified,
            detail,
            path,
            search: { state: 'unverified' },
          } as const,
        ]
      : []),
  ]
}
