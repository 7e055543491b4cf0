import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table/index.ts'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { type ClinicName, clinicName } from '../../shell/clinic.ts'
import { formatBytes } from '../../words/numbers.ts'
import type { Backup } from './backup-facts.ts'
import { keptUntil, stateOf } from './backup-facts.ts'
import { backupTexts as texts } from './backups.texts.ts'

/** Returns the columns of the list of backups. */
export const backupColumns = (clinics: readonly ClinicName[]): readonly Column<Backup>[] => [
  {
    id: 'created_at',
    label: texts.created,
    render: ({ created_at }) => <Ago at={created_at} />,
    isSortable: true,
    rank: 1,
  },
  {
    id: 'contents',
    label: texts.contents,
    render: (backup) => <Contents backup={backup} clinics={clinics} />,
    rank: 1,
  },
  {
    id: 'size_bytes',
    label: texts.size,
    render: ({ size_bytes }) => (size_bytes === null ? texts.noSize : formatBytes(size_bytes)),
    isSortable: true,
    isNumber: true,
  },
  {
    id: 'state',
    label: texts.state,
    render: (backup) => <StatusBadge kind="backup" state={stateOf(backup)} />,
    rank: 1,
  },
  { id: 'proven', label: texts.proven, render: (backup) => <Proven backup={backup} /> },
  { id: 'kept', label: texts.kept, render: (backup) => keptText(backup) },
]

/** The clinic of a backup, or the words for all clinics. */
export function Contents({ backup, clinics }: { backup: Backup; clinics: readonly ClinicName[] }) {
  if (backup.tenant_id === null) return texts.allClinics
  return <bdi>{clinicName(clinics, backup.tenant_id)}</bdi>
}

/** Says whether a test restored the backup, or its file was verified. */
export function Proven({ backup }: { backup: Backup }) {
  const { verified_at, drill_seconds } = backup
  if (drill_seconds !== null) return texts.restoredIn(drill_seconds)
  if (verified_at === null) return <span className="muted">{texts.notProven}</span>
  return (
    <>
      {texts.verified} <Ago at={verified_at} />
    </>
  )
}

/** Says how long a backup is kept. */
export function keptText(backup: Backup): string {
  const until = keptUntil(backup)
  return until === undefined ? texts.keptForNow : texts.keptUntil(new Date(until))
}
