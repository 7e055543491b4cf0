import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { ConfirmFinal } from '../../parts/confirm-final.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { closeThenFocus, focusHeading } from '../../parts/focus-heading.ts'
import { failureSentence } from '../../parts/form-faults.ts'
import { Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { addressOf, useClinicId, useClinics } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatDuration } from '../../words/dates.ts'
import { formatBytes } from '../../words/numbers.ts'
import { Contents, keptText, Proven } from './backup-columns.tsx'
import type { Backup } from './backup-facts.ts'
import { isUsable, shortId, stateOf } from './backup-facts.ts'
import { backupTexts as texts } from './backups.texts.ts'
import { useBackupCommands } from './data.ts'

interface BackupPanelProps {
  /** Undefined if the list does not contain the backup. */
  readonly backup: Backup | undefined
  readonly isLastProven: boolean
  readonly returnFocusTo: string
  readonly onClose: () => void
  /** Called with the id of a job that the reader started. */
  readonly onStarted: (jobId: string) => void
}

/** The panel of one backup, beside the list. */
export function BackupPanel({ backup, ...props }: BackupPanelProps) {
  if (!backup)
    return (
      <Panel title={texts.unknownTitle} {...props}>
        <div className="card-body muted">{texts.unknown}</div>
      </Panel>
    )
  return (
    <Panel
      title={texts.backupOf(new Date(backup.created_at))}
      {...props}
      actions={<Acts backup={backup} {...props} />}
    >
      <div className="card-body">
        <Facts backup={backup} />
      </div>
    </Panel>
  )
}

function Facts({ backup }: { backup: Backup }) {
  const clinics = useClinics()
  const { created_at, size_bytes, records, reason, sha256, error } = backup
  return (
    <dl className="facts">
      <dt>{texts.state}</dt>
      <dd>
        <StatusBadge kind="backup" state={stateOf(backup)} />
      </dd>
      {error !== null && (
        <>
          <dt>{texts.fault}</dt>
          <dd>{error}</dd>
        </>
      )}
      <dt>{texts.contents}</dt>
      <dd>
        <Contents backup={backup} clinics={clinics} />
        {records !== null && <>, {texts.recordCount(records)}</>}
      </dd>
      <dt>{texts.created}</dt>
      <dd>
        <Ago at={created_at} />
      </dd>
      <dt>{texts.reason}</dt>
      <dd>{texts.reasonOf(reason)}</dd>
      <dt>{texts.size}</dt>
      <dd>{size_bytes === null ? texts.noSize : formatBytes(size_bytes)}</dd>
      <dt>{texts.proven}</dt>
      <dd>
        <Proven backup={backup} />
      </dd>
      <TestFacts backup={backup} />
      <dt>{texts.kept}</dt>
      <dd>{keptText(backup)}</dd>
      {sha256 !== null && (
        <>
          <dt>{texts.checksum}</dt>
          <dd>
            <code>{sha256}</code> <CopyButton text={sha256} label={texts.copyChecksum} />
          </dd>
        </>
      )}
    </dl>
  )
}

/** The last test and the last verification of a backup. */
function TestFacts({ backup }: { backup: Backup }) {
  const { drill_seconds, tested_at, tested_by_name, tested_records, verified_at } = backup
  if (drill_seconds === null) return null
  const who = tested_by_name === null ? texts.testedWithoutPerson : texts.testedBy(tested_by_name)
  return (
    <>
      <dt>{texts.tested}</dt>
      <dd>
        {tested_at === null ? (
          texts.testTimeUnknown
        ) : (
          <>
            <Ago at={tested_at} />, <bdi>{who}</bdi>
          </>
        )}
      </dd>
      <dt>{texts.testDuration}</dt>
      <dd>{formatDuration(drill_seconds)}</dd>
      {tested_records !== null && (
        <>
          <dt>{texts.testRestored}</dt>
          <dd>{texts.recordCount(tested_records)}</dd>
        </>
      )}
      {verified_at !== null && (
        <>
          <dt>{texts.fileVerified}</dt>
          <dd>
            <Ago at={verified_at} />
          </dd>
        </>
      )}
    </>
  )
}

type Act = 'download' | 'remove'

function Acts({ backup, ...props }: Omit<BackupPanelProps, 'backup'> & { backup: Backup }) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const [act, setAct] = useState<Act>()
  const close = () => setAct(undefined)
  return (
    <>
      {isUsable(backup) && (
        <>
          <Link
            className="button primary"
            to={addressOf({ path: '/backups/restore' }, person, clinicId)}
            search={{ backup: backup.backup_id }}
          >
            {texts.restore.open}
          </Link>
          {backup.type === 'full' && <TestButton backup={backup} onStarted={props.onStarted} />}
          <button type="button" onClick={() => setAct('download')}>
            {texts.download.open}
          </button>
        </>
      )}
      <button type="button" className="danger" onClick={() => setAct('remove')}>
        {texts.remove.open}
      </button>
      {act === 'download' && <Download backup={backup} onClose={close} />}
      {act === 'remove' && (
        <Remove backup={backup} isLastProven={props.isLastProven} onClose={close} />
      )}
    </>
  )
}

function TestButton({
  backup,
  onStarted,
}: Pick<BackupPanelProps, 'onStarted'> & { backup: Backup }) {
  const { test } = useBackupCommands(useClinicId())
  const [isBusy, setBusy] = useState(false)
  const start = () => {
    if (isBusy) return
    setBusy(true)
    void test(backup.backup_id)
      .then(onStarted, (error) => showToast(failureSentence(error)))
      .finally(() => setBusy(false))
  }
  return (
    <button type="button" aria-disabled={isBusy} onClick={start}>
      {texts.test.open}
    </button>
  )
}

interface DialogProps {
  readonly backup: Backup
  readonly onClose: () => void
}

/** Asks for the password if needed. Then the browser downloads the file itself. */
function Download({ backup, onClose }: DialogProps) {
  const { linkOf } = useBackupCommands(useClinicId())
  const finish = (url: string) => {
    onClose()
    followDownload(url)
    showToast(texts.download.done)
  }
  return (
    <ConfirmFinal
      title={texts.download.title}
      act={() => linkOf(backup.backup_id)}
      onDone={finish}
      onCancel={onClose}
    >
      <p>{texts.download.body}</p>
    </ConfirmFinal>
  )
}

/** Makes the browser download the file of a URL. */
function followDownload(url: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = ''
  link.click()
}

interface RemoveProps extends DialogProps {
  readonly isLastProven: boolean
}

function Remove({ backup, isLastProven, onClose }: RemoveProps) {
  const { remove } = useBackupCommands(useClinicId())
  const finish = () => {
    closeThenFocus(onClose, focusHeading)
    showToast(texts.remove.done)
  }
  return (
    <ConfirmFinal
      title={texts.remove.title}
      name={shortId(backup)}
      act={() => remove(backup.backup_id)}
      onDone={finish}
      onCancel={onClose}
    >
      <p>
        {texts.remove.body} {isLastProven && <strong>{texts.remove.last}</strong>}
      </p>
    </ConfirmFinal>
  )
}
