/** Backups and their jobs on the wire. */
import Type, { type Static } from 'typebox'
import { Id, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { JOB_KINDS, REASONS, STATUSES } from './backups.table.ts'
import { BACKUP_TYPES } from './file/format.ts'

const Count = Type.Integer({ minimum: 0 })
const COMPLETED = { examples: ['completed'] }

export const Backup = Type.Object(
  {
    backup_id: Type.String({ examples: ['b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'] }),
    type: OneOf(BACKUP_TYPES),
    tenant_id: Nullable(Id, { description: 'null for a backup of everything' }),
    status: OneOf(STATUSES, COMPLETED),
    size_bytes: Nullable(Count, { examples: [73_400_320] }),
    sha256: Nullable(
      Type.String({
        description: 'SHA-256 of the file in hexadecimal.',
        examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      }),
    ),
    records: Nullable(Count, { examples: [21_480] }),
    created_at: Timestamp,
    created_by: Nullable(Id, { description: 'user; null for the schedule and the command line' }),
    schema_version: Nullable(Count),
    reason: OneOf(REASONS),
    verified_at: Nullable(Timestamp, {
      description: 'when the whole file was last proven to be readable',
    }),
    drill_seconds: Nullable(Type.Number({ description: 'what the last drill took to restore it' })),
    locked_until: Nullable(Timestamp, {
      description: 'until when the store lets nobody delete it; null where no lock is known',
    }),
    rewritten_at: Nullable(Timestamp, {
      description: 'when it was written anew without tenants that were purged',
    }),
    error: Nullable(
      Type.String({
        description: 'Why the backup or its verification failed.',
      }),
    ),
  },
  { $id: 'Backup' },
)
export type Backup = Static<typeof Backup>

export const Backups = Type.Object({ items: Type.Array(Backup), total: Count }, { $id: 'Backups' })

const Difference = Type.Object({ added: Count, changed: Count, removed: Count })

const RestoreOutcome = Type.Object(
  {
    dry_run: Type.Boolean(),
    tables: Type.Record(Type.String(), Difference, {
      examples: [{ users: { added: 0, changed: 2, removed: 1 } }],
    }),
    access: Type.Object({
      total: Count,
      cases: Type.Array(
        Type.Object({
          table: Type.String({ examples: ['users'] }),
          id: Id,
          fields: Type.Array(Type.String({ examples: ['is_active'] })),
        }),
        { description: 'The first 1,000 records whose access was not restored.' },
      ),
    }),
    safety_backup_id: Nullable(Type.String({ examples: ['b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'] })),
    purged: Type.Array(Id, { description: 'tenants of the backup that were purged, and left out' }),
    purged_records: Type.Record(Type.String(), Type.Integer(), {
      description:
        'records of the backup that were destroyed, such as purged patients, and left out: how many, by table',
    }),
    deleted: Type.Array(Id, {
      description:
        'tenants that are younger than the backup, or were put back since it, and were deleted: they can be put back',
    }),
  },
  { $id: 'RestoreOutcome' },
)

export const BackupJob = Type.Object(
  {
    job_id: Type.String({ examples: ['5f3d1c0b-9a53-4c0e-8b1e-2f7f2f1f0c11'] }),
    backup_id: Type.String({ examples: ['b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'] }),
    kind: OneOf(JOB_KINDS),
    status: OneOf(STATUSES, COMPLETED),
    progress: Type.Number({ minimum: 0, maximum: 1, examples: [1] }),
    error: Nullable(Type.String()),
    result: Type.Union([RestoreOutcome, Type.Null()]),
    created_at: Timestamp,
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
  },
  { $id: 'BackupJob' },
)
export type BackupJob = Static<typeof BackupJob>

export const BackupOrder = Type.Object({
  type: Type.Optional(
    OneOf(BACKUP_TYPES, {
      description: 'full: everything, for superadmins; tenant: the own one, or that of tenant_id',
    }),
  ),
  tenant_id: Type.Optional(Id),
})
export type BackupOrder = Static<typeof BackupOrder>

export const StartedBackup = Type.Object(
  {
    job_id: Type.String({ examples: ['5f3d1c0b-9a53-4c0e-8b1e-2f7f2f1f0c11'] }),
    backup_id: Type.String({ examples: ['b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'] }),
    type: OneOf(BACKUP_TYPES),
    status: OneOf(STATUSES),
  },
  { $id: 'StartedBackup' },
)

export const RestoreOrder = Type.Object({
  backup_id: Type.String({ maxLength: 200 }),
  type: Type.Optional(
    OneOf(BACKUP_TYPES, {
      description: 'tenant with a full backup puts the clinic of tenant_id back, and no other',
    }),
  ),
  tenant_id: Type.Optional(Id),
  confirm: Type.Optional(Type.Boolean({ description: 'true, unless dry_run is' })),
  access: OneOf(['merged', 'backup'], {
    default: 'merged',
    description:
      'merged: who was blocked, deleted or lowered since stays so; backup (superadmins): as it was then',
  }),
  dry_run: Type.Boolean({
    default: false,
    description: 'say what a restore would do, and touch nothing',
  }),
})
export type RestoreOrder = Static<typeof RestoreOrder>

/** Any text: what is no backup's id is answered as an unknown one, paths above all. */
export const BackupPath = Type.Object({
  backup_id: Type.String({ maxLength: 200, description: 'The id of the backup.' }),
})
export const JobPath = Type.Object({
  job_id: Type.String({ maxLength: 200, description: 'The id of the job.' }),
})
export const DownloadQuery = Type.Object({
  type: Type.Optional(
    OneOf(BACKUP_TYPES, { description: 'Answers 404 if the backup is of another type.' }),
  ),
})
