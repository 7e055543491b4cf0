import { Link, useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CopyButton } from '../../parts/copy-button.tsx'
import { type RowLink, rowLinkId } from '../../parts/data-table/index.ts'
import { linesOf } from '../../parts/diff.ts'
import { DiffView } from '../../parts/diff-view.tsx'
import { Panel } from '../../parts/panel.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { commonTexts } from '../../words/common.texts.ts'
import { formatFullTime } from '../../words/dates.ts'
import { isAdministrator } from '../../words/roles.ts'
import { deviceName } from '../account/device.ts'
import { useActionMeanings } from './action-meanings.ts'
import { auditTexts } from './audit.texts.ts'
import { fieldNames } from './entry-changes.texts.ts'
import { readChanges } from './entry-changes.ts'
import { entryTexts } from './entry-words.texts.ts'
import {
  type AuditEntry,
  meaningOfEntry,
  nameIn,
  recordName,
  recordOf,
  resourceTypeName,
  whoOf,
} from './entry-words.ts'
import { linkToPerson, linkToRecord, linkToRequest } from './links.ts'
import { DownloadProof } from './proof.tsx'

const texts = auditTexts.panel

interface EntryPanelProps {
  readonly entry: AuditEntry
  readonly onClose: () => void
}

/** The panel of the open entry: its facts, the changed fields, and the links to related entries. */
export function EntryPanel({ entry, onClose }: EntryPanelProps) {
  const { meaningOf } = useActionMeanings()
  return (
    <Panel
      title={meaningOfEntry(entry, meaningOf)}
      returnFocusTo={rowLinkId(String(entry.id))}
      onClose={onClose}
      actions={<Related entry={entry} />}
    >
      <div className="card-body stack entry">
        <p className="muted">
          <bdi>{entryTexts.by(whoOf(entry), formatFullTime(new Date(entry.created_at)))}</bdi>
        </p>
        <EntryFacts entry={entry} />
        <Changes entry={entry} />
        <DownloadProof key={entry.id} id={entry.id} />
      </div>
    </Panel>
  )
}

interface AbsentPanelProps {
  readonly id: number
  readonly onClose: () => void
}

/** Shows that the open entry was not found. */
export function AbsentPanel({ id, onClose }: AbsentPanelProps) {
  return (
    <Panel
      title={texts.absentTitle}
      returnFocusTo={rowLinkId(String(id))}
      onClose={onClose}
      actions={
        <button type="button" onClick={onClose}>
          {commonTexts.close}
        </button>
      }
    >
      <p className="card-body">{texts.absent}</p>
    </Panel>
  )
}

function EntryFacts({ entry }: { entry: AuditEntry }) {
  return (
    <dl className="facts">
      <dt>{texts.who}</dt>
      <dd>
        <LinkToPage path="/users" id={entry.user_name === null ? null : entry.user_id}>
          {whoOf(entry)}
        </LinkToPage>
      </dd>
      {entry.user_name !== null && entry.user_email !== null && (
        <>
          <dt>{texts.email}</dt>
          <dd>{entry.user_email}</dd>
        </>
      )}
      <dt>{texts.record}</dt>
      <dd>
        <RecordLink entry={entry} />
      </dd>
      <dt>{texts.address}</dt>
      <dd className="mono">{entry.ip ?? commonTexts.none}</dd>
      <dt>{texts.browser}</dt>
      <dd title={entry.user_agent ?? undefined}>
        {entry.user_agent === null ? commonTexts.none : deviceName(entry.user_agent)}
      </dd>
      <dt>{texts.request}</dt>
      <dd>
        {entry.request_id === null ? (
          commonTexts.none
        ) : (
          <span className="entry-request">
            <code>{entry.request_id}</code>
            <CopyButton text={entry.request_id} label={texts.copyRequest} />
          </span>
        )}
      </dd>
    </dl>
  )
}

/** The pages that show one record, by its kind. */
const RECORD_PAGES: Readonly<Record<string, string>> = {
  user: '/users',
  department: '/departments',
}

function RecordLink({ entry }: { entry: AuditEntry }) {
  const { resource_type, resource_id, resource_name } = entry
  const path = Object.hasOwn(RECORD_PAGES, resource_type) ? RECORD_PAGES[resource_type] : undefined
  if (resource_type === 'webhook' && resource_id !== null) return <WebhookLink id={resource_id} />
  // A record without a name was deleted, so its page does not exist.
  const id = resource_name === null ? null : Number(resource_id)
  return (
    <>
      <LinkToPage path={path} id={id}>
        {recordOf(entry)}
      </LinkToPage>
      {recordName(entry) !== undefined && resource_id !== null && (
        <span className="muted">
          {' '}
          {entryTexts.record(resourceTypeName(resource_type), resource_id)}
        </span>
      )}
    </>
  )
}

/** The link to the page of a webhook, for those who may open it. Webhooks have no name in the audit log. */
function WebhookLink({ id }: { id: string }) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const name = entryTexts.record(resourceTypeName('webhook'), id)
  if (!isAdministrator(person.role) || clinicId !== person.tenant_id) return name
  return <Link to={addressOf({ path: `/webhooks/${id}` }, person, clinicId)}>{name}</Link>
}

interface LinkToPageProps {
  readonly path: string | undefined
  readonly id: number | null
  readonly children: string
}

/**
 * A link to the page of a record. Shows only the name if no page shows the record. Readers of the audit log may open
 * these pages.
 */
function LinkToPage({ path, id, children }: LinkToPageProps) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const { routesByPath } = useRouter()
  const name = <bdi>{children}</bdi>
  if (path === undefined || id === null || !Object.hasOwn(routesByPath, path)) return name
  return (
    <Link to={addressOf({ path }, person, clinicId)} search={{ open: id }}>
      {name}
    </Link>
  )
}

function Changes({ entry }: { entry: AuditEntry }) {
  const { difference, facts } = readChanges(entry)
  if (!difference && facts.length === 0) return <p className="muted">{texts.noDetails}</p>
  return (
    <section className="stack tight" aria-label={texts.changes}>
      {difference && <DiffView {...difference} labels={fieldNames} />}
      {facts.length > 0 && (
        <dl className="facts">
          {facts.map(([name, value]) => (
            <Fact key={name} name={nameIn(fieldNames, name)} lines={linesOf(value)} />
          ))}
        </dl>
      )}
    </section>
  )
}

function Fact({ name, lines }: { name: string; lines: readonly string[] }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {lines.length === 0 && commonTexts.none}
        {[...new Set(lines)].map((line) => (
          <div key={line}>{line}</div>
        ))}
      </dd>
    </>
  )
}

function Related({ entry }: { entry: AuditEntry }) {
  return (
    <>
      <RelatedLink link={linkToRequest(entry)}>{texts.ofRequest}</RelatedLink>
      <RelatedLink link={linkToPerson(entry)}>{texts.byPerson}</RelatedLink>
      <RelatedLink link={linkToRecord(entry)}>{texts.ofRecord}</RelatedLink>
    </>
  )
}

function RelatedLink({ link, children }: { link: RowLink | undefined; children: ReactNode }) {
  if (!link) return null
  return (
    <Link {...link} className="button">
      {children}
    </Link>
  )
}
