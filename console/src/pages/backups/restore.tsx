import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/problem.ts'
import { Ago } from '../../parts/ago.tsx'
import { ConfirmFinal } from '../../parts/confirm-final.tsx'
import { useFocusAfterRemoval } from '../../parts/focus-heading.ts'
import { failureSentence } from '../../parts/form-faults.ts'
import { TrackedJob } from '../../parts/jobs/tracked-job.tsx'
import { useJob } from '../../parts/jobs/use-job.ts'
import { useChangeSearch, useListState } from '../../parts/list/list-state.ts'
import { ListTable } from '../../parts/list/list-table.tsx'
import { choiceParameter, readParameters } from '../../parts/list/parameters.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { Empty } from '../../parts/states.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId, useClinics } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatAgo } from '../../words/dates.ts'
import { backupColumns, Contents, Proven } from './backup-columns.tsx'
import type { Backup } from './backup-facts.ts'
import { isUsable } from './backup-facts.ts'
import { backupTexts } from './backups.texts.ts'
import { backupList, idTextParameter, useBackupCommands, useBackups } from './data.ts'
import { Outcome, outcomeOf } from './outcome.tsx'
import { restoreTexts as texts } from './restore.texts.ts'
import { RestoreProgress } from './restore-progress.tsx'
import { RunningRestore } from './running-restore.tsx'
import './backups.css'

const SCOPES = ['all', 'clinic'] as const
type Scope = (typeof SCOPES)[number]

const parameters = {
  backup: idTextParameter,
  scope: choiceParameter(SCOPES),
  preview: idTextParameter,
  job: idTextParameter,
}

/** The steps of a restore. The URL has the backup, the scope, the job of the preview, and the job of the restore. */
export function Page() {
  const { backup, scope, preview, job } = readParameters(parameters, useSearch({ strict: false }))
  const step = job !== undefined ? 'restore' : backup !== undefined ? 'preview' : 'choose'
  return (
    <>
      <PageHead title={texts.title} />
      <Steps current={step} />
      {/* Beside a preview, the service itself refuses a second restore. */}
      {job === undefined && preview === undefined && <RunningRestore />}
      {job !== undefined ? (
        <RestoreProgress key={job} id={job} />
      ) : backup !== undefined ? (
        <Chosen id={backup} scope={scope} preview={preview} />
      ) : (
        <ChooseBackup />
      )}
    </>
  )
}

function Steps({ current }: { current: 'choose' | 'preview' | 'restore' }) {
  const steps = ['choose', 'preview', 'restore'] as const
  return (
    <ol className="steps" aria-label={texts.steps.label}>
      {steps.map((step) => (
        <li key={step} {...(step === current && { 'aria-current': 'step' as const })}>
          {texts.steps[step]}
        </li>
      ))}
    </ol>
  )
}

function ChooseBackup() {
  const list = useListState(backupList)
  const query = useBackups(useClinicId(), list, isUsable)
  return (
    <ListTable
      caption={texts.choose.caption}
      columns={backupColumns(useClinics())}
      list={list}
      query={query}
      idOf={({ backup_id }) => backup_id}
      nameOf={({ created_at }) => backupTexts.backupOf(new Date(created_at))}
      linkOf={({ backup_id }) => ({ to: '.', search: () => ({ backup: backup_id }) })}
      empty={<Empty title={texts.choose.emptyTitle}>{texts.choose.empty}</Empty>}
    />
  )
}

interface ChosenProps {
  readonly id: string
  readonly scope: Scope | undefined
  readonly preview: string | undefined
}

/** The chosen backup with the scope and the preview of its restore. */
function Chosen({ id, scope, preview }: ChosenProps) {
  const query = useBackups(useClinicId(), useListState(backupList), isUsable)
  return (
    <QueryState query={query}>
      {({ all }) => {
        const backup = all.find(({ backup_id }) => backup_id === id)
        return backup ? (
          <Plan
            backup={backup}
            scope={backup.type === 'tenant' ? 'clinic' : scope}
            preview={preview}
          />
        ) : (
          <Empty title={texts.unknownTitle} action={<OtherBackup />}>
            {texts.unknown}
          </Empty>
        )
      }}
    </QueryState>
  )
}

const OtherBackup = () => (
  <Link to="." search={{}}>
    {texts.choose.other}
  </Link>
)

interface PlanProps {
  readonly backup: Backup
  readonly scope: Scope | undefined
  readonly preview: string | undefined
}

function Plan({ backup, scope = 'clinic', preview }: PlanProps) {
  const clinics = useClinics()
  return (
    <div className="stack">
      <section className="card card-body backup-card stack">
        <dl className="facts">
          <dt>{texts.chosen}</dt>
          <dd>
            {backupTexts.backupOf(new Date(backup.created_at))} (<Ago at={backup.created_at} />)
          </dd>
          <dt>{backupTexts.contents}</dt>
          <dd>
            <Contents backup={backup} clinics={clinics} />
          </dd>
          <dt>{backupTexts.proven}</dt>
          <dd>
            <Proven backup={backup} />
          </dd>
        </dl>
        <p>
          <OtherBackup />
        </p>
        {backup.type === 'full' && <ScopeChoice scope={scope} />}
      </section>
      {preview === undefined ? (
        <div className="stack tight">
          <p>{texts.preview.explanation}</p>
          <PreviewButton backup={backup} scope={scope} label={texts.preview.open} />
        </div>
      ) : (
        <Preview key={preview} id={preview} backup={backup} scope={scope} />
      )}
    </div>
  )
}

/** Chooses between all clinics and the clinic of the page. Another scope needs another preview. */
function ScopeChoice({ scope }: { scope: Scope }) {
  const change = useChangeSearch()
  const name = useScopeName('clinic')
  return (
    <fieldset className="stack tight">
      <legend>{texts.scope.legend}</legend>
      {SCOPES.map((choice) => (
        <label key={choice} className="row">
          <input
            type="radio"
            name="scope"
            checked={scope === choice}
            onChange={() => change({ scope: choice, preview: undefined }, { replace: true })}
          />
          <bdi>{choice === 'all' ? texts.scope.all : texts.scope.one(name)}</bdi>
        </label>
      ))}
      <p className="small muted">{texts.scope.other}</p>
    </fieldset>
  )
}

/** Returns the name of what is restored. */
function useScopeName(scope: Scope): string {
  const clinicId = useClinicId()
  const clinic = useClinics().find(({ id }) => id === clinicId)
  return scope === 'all' ? texts.confirm.typedForAll : (clinic?.name ?? String(clinicId))
}

interface PreviewButtonProps {
  readonly backup: Backup
  readonly scope: Scope
  readonly label: string
}

function PreviewButton({ backup, scope, label }: PreviewButtonProps) {
  const clinicId = useClinicId()
  const { restore } = useBackupCommands(clinicId)
  const change = useChangeSearch()
  const [isBusy, setBusy] = useState(false)
  useFocusAfterRemoval()
  const start = () => {
    if (isBusy) return
    setBusy(true)
    const choice = { backup: backup.backup_id, tenantId: scope === 'all' ? null : clinicId }
    void restore({ ...choice, isPreview: true })
      .then(
        (id) => change({ scope, preview: id }),
        (error) => showToast(failureSentence(error)),
      )
      .finally(() => setBusy(false))
  }
  return (
    <div className="row">
      <button type="button" className="primary" aria-disabled={isBusy} onClick={start}>
        {label}
      </button>
    </div>
  )
}

interface PreviewProps {
  readonly id: string
  readonly backup: Backup
  readonly scope: Scope
}

function Preview({ id, backup, scope }: PreviewProps) {
  const { data: job, error } = useJob(id)
  const isGone = error instanceof ApiError && error.status === 404
  const isOver = isGone || job?.status === 'failed' || job?.status === 'cancelled'
  return (
    <section className="stack" aria-label={texts.steps.preview}>
      <div className="card card-body backup-card">
        <TrackedJob id={id}>{() => <p>{texts.preview.done}</p>}</TrackedJob>
      </div>
      {isOver && <PreviewButton backup={backup} scope={scope} label={texts.preview.again} />}
      {job?.status === 'completed' && (
        <>
          <Outcome outcome={outcomeOf(job)} isPreview />
          <RestoreButton backup={backup} scope={scope} />
        </>
      )}
    </section>
  )
}

function RestoreButton({ backup, scope }: Omit<PreviewProps, 'id'>) {
  const clinicId = useClinicId()
  const { restore } = useBackupCommands(clinicId)
  const change = useChangeSearch()
  const name = useScopeName(scope)
  const isOwn = usePersonHere().tenant_id === clinicId
  const [isAsking, setAsking] = useState(false)
  const choice = { backup: backup.backup_id, tenantId: scope === 'all' ? null : clinicId }
  return (
    <div className="row">
      <button type="button" className="danger" onClick={() => setAsking(true)}>
        {texts.confirm.open}
      </button>
      {isAsking && (
        <ConfirmFinal
          title={texts.confirm.title(name)}
          name={name}
          act={() => restore({ ...choice, isPreview: false })}
          onDone={(job) => change({ job, preview: undefined })}
          onCancel={() => setAsking(false)}
        >
          <div className="stack tight">
            <p>{scope === 'all' ? texts.confirm.body : texts.confirm.clinicBody(name, isOwn)}</p>
            <p>
              {texts.confirm.lost(formatAgo(new Date(backup.created_at), new Date()))}{' '}
              {texts.confirm.safety}
            </p>
          </div>
        </ConfirmFinal>
      )}
    </div>
  )
}
