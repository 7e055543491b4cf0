import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { rowLinkId } from '../../parts/data-table/index.ts'
import { failureSentence } from '../../parts/form-faults.ts'
import { TrackedJob } from '../../parts/jobs/tracked-job.tsx'
import { useChangeSearch, useListState } from '../../parts/list/list-state.ts'
import { ListTable } from '../../parts/list/list-table.tsx'
import { readParameters } from '../../parts/list/parameters.ts'
import { Menu } from '../../parts/menu.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Empty } from '../../parts/states.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId, useClinics } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatNumber } from '../../words/numbers.ts'
import { backupColumns } from './backup-columns.tsx'
import type { Backup, Proof } from './backup-facts.ts'
import { BackupPanel } from './backup-panel.tsx'
import { backupTexts as texts } from './backups.texts.ts'
import {
  type BackupPage,
  backupList,
  idTextParameter,
  useBackupCommands,
  useBackups,
} from './data.ts'
import { RunningRestore } from './running-restore.tsx'
import './backups.css'

/** The list of backups, with the panel of the open one and the progress of the job in the URL. */
export function Page() {
  const clinicId = useClinicId()
  const list = useListState(backupList)
  const query = useBackups(clinicId, list)
  const isOperator = usePersonHere().role === 'superadmin'
  const change = useChangeSearch()
  const { open, job } = readParameters(
    { open: idTextParameter, job: idTextParameter },
    useSearch({ strict: false }),
  )
  const opened = query.data?.all.find(({ backup_id }) => backup_id === open)
  const follow = (id: string) => change({ job: id })
  return (
    <>
      <PageHead
        title={texts.title}
        count={query.data && formatNumber(query.data.total)}
        actions={<BackUpButton onStarted={follow} />}
      />
      {query.data && <LastProven page={query.data} />}
      {job === undefined ? <RunningRestore /> : <BackupJob key={job} id={job} />}
      <div className="split">
        <ListTable
          caption={texts.title}
          columns={backupColumns(useClinics())}
          list={list}
          query={query}
          idOf={({ backup_id }) => backup_id}
          nameOf={({ created_at }) => texts.backupOf(new Date(created_at))}
          linkOf={({ backup_id }) => linkTo(backup_id)}
          openId={open}
          empty={
            <Empty title={isOperator ? texts.emptyTitle : texts.emptyTitleHere}>
              {texts.empty}
            </Empty>
          }
        />
        {open !== undefined && query.data && (
          <BackupPanel
            key={open}
            backup={opened}
            isLastProven={
              opened !== undefined && query.data.proofs[0]?.created_at === opened.created_at
            }
            returnFocusTo={rowLinkId(open)}
            onClose={() => change({ open: undefined })}
            onStarted={follow}
          />
        )}
      </div>
    </>
  )
}

const linkTo = (id: string) => ({
  to: '.',
  search: (current: Readonly<Record<string, unknown>>) => ({ ...current, open: id }),
})

function LastProven({ page }: { page: BackupPage }) {
  const { proofs, total } = page
  if (proofs.length === 0) return total > 0 && <p className="proven">{texts.noneProven}</p>
  return proofs.map((proof) => (
    <p className="proven" key={proof.created_at}>
      <ProofSentence proof={proof} />
    </p>
  ))
}

function ProofSentence({ proof }: { proof: Proof }) {
  const { type, created_at, drill_seconds, tested_at } = proof
  const isFull = type === 'full'
  const at = new Date(created_at)
  return (
    <>
      {isFull ? texts.allClinicsOf(at) : texts.backupOf(at)} (<Ago at={created_at} />){' '}
      {drill_seconds === null ? (
        <>
          {texts.isVerified} {!isFull && texts.onlyAllTested}
        </>
      ) : (
        <>
          {texts.isTested} {tested_at !== null && <Ago at={tested_at} />}{' '}
          {texts.testTook(drill_seconds)}.
        </>
      )}
    </>
  )
}

/** The progress of the job that the reader started. */
function BackupJob({ id }: { id: string }) {
  const { reload } = useBackupCommands(useClinicId())
  const change = useChangeSearch()
  return (
    <section className="card card-body backup-card stack" aria-label={texts.job.working}>
      <TrackedJob id={id} onOver={reload}>
        {({ kind }) => <p>{kind === 'drill' ? texts.test.done : texts.create.done}</p>}
      </TrackedJob>
      <div className="row">
        <button type="button" onClick={() => change({ job: undefined })}>
          {texts.job.close}
        </button>
      </div>
    </section>
  )
}

/** The button that starts a backup. A superadmin chooses between all clinics and the clinic of the page. */
function BackUpButton({ onStarted }: { onStarted: (jobId: string) => void }) {
  const clinicId = useClinicId()
  const { create } = useBackupCommands(clinicId)
  const clinic = useClinics().find(({ id }) => id === clinicId)?.name ?? String(clinicId)
  const [isBusy, setBusy] = useState(false)
  const start = (type: Backup['type']) => {
    if (isBusy) return
    setBusy(true)
    void create(type)
      .then(onStarted, (error) => showToast(failureSentence(error)))
      .finally(() => setBusy(false))
  }
  if (usePersonHere().role !== 'superadmin')
    return (
      <button
        type="button"
        className="primary"
        aria-disabled={isBusy}
        onClick={() => start('tenant')}
      >
        {texts.create.open}
      </button>
    )
  return (
    <Menu
      className="primary"
      items={[
        { label: texts.create.all, onSelect: () => start('full') },
        { label: texts.create.one(clinic), onSelect: () => start('tenant') },
      ]}
    >
      {texts.create.open}
    </Menu>
  )
}
