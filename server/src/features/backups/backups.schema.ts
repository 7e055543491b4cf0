import Type, { type Static } from 'typebox'
import { Id, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { BACKUP_REASONS, BACKUP_STATUSES, JOB_KINDS } from './backups.table.ts'
import { BACKUP_TYPES } from './file/format.ts'

const Count = Type.Integer({ minimum: 0 })
const COMPLETED = { examples: ['completed'] }

export const Backup = Type.Object(
  {
    backup_id: Type.String({ examples: ['b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'] }),
    type: OneOf(BACKUP_TYPES),
    tenant_id: Nullable(Id, { description: 'Null for a full backup.' }),
    status: OneOf(BACKUP_STATUSES, COMPLETED),
    size_bytes: Nullable(Count, { examples: [73_400_320] }),
    sha256: Nullable(
      Type.String({
        description: 'SHA-256 of the file in hexadecimal.',
        examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      }),
    ),
    records: Nullable(Count, { examples: [21_480] }),
    created_at: Timestamp,
    created_by: Nullable(Id, {
      description: 'The user who created the backup. Null for the schedule and the command line.',
    }),
    schema_version: Nullable(Count),
    reason: OneOf(BACKUP_REASONS),
    verified_at: Nullable(Timestamp, {
      description: 'When the whole file was last verified by reading it.',
    }),
    drill_seconds: Nullable(
      Type.Number({ description: 'Duration of the last test restore in seconds.' }),
    ),
    tested_at: Nullable(Timestamp, {
      description:
        'When the last test restore ended, by its journal entry. Null if there was none, or if the entry was archived.',
    }),
    tested_by: Nullable(Id, {
      description:
        'The user who requested the last test restore. Null for the schedule and the command line.',
    }),
    tested_by_name: Nullable(
      Type.String({
        description: 'The name of that user, or the email address if the user was deleted.',
        examples: ['Anna Admin'],
      }),
    ),
    tested_records: Nullable(Count, {
      description: 'The number of records that the last test restore restored. Null if unknown.',
      examples: [21_480],
    }),
    locked_until: Nullable(Timestamp, {
      description:
        'The end of the lock in the backup store. The backup cannot be deleted before. Null without a lock.',
    }),
    rewritten_at: Nullable(Timestamp, {
      description: 'When the file was rewritten to remove purged tenants.',
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

const FullBackupProof = Type.Object(
  {
    created_at: Timestamp,
    verified_at: Timestamp,
    drill_seconds: Nullable(
      Type.Number({ description: 'Duration of its last test restore in seconds.' }),
    ),
    tested_at: Nullable(Timestamp, { description: 'When its last test restore ended.' }),
  },
  {
    description:
      'The newest full backup that contains the tenant of the caller and that a test restore has proven, otherwise the newest verified one. Null if there is none, and for superadmins, whose list contains the full backups.',
  },
)

export const Backups = Type.Object(
  {
    items: Type.Array(Backup),
    total: Count,
    full_backup: Type.Union([FullBackupProof, Type.Null()]),
  },
  { $id: 'Backups' },
)

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
          name: Type.Optional(
            Nullable(Type.String({ examples: ['Dalia Levi'] }), {
              description:
                'The name of the record, or the host of a webhook. A preview shows the name in the backup, and a result the current name. Null if unknown.',
            }),
          ),
        }),
        { description: 'The first 1,000 records whose access was not restored.' },
      ),
    }),
    safety_backup_id: Nullable(Type.String({ examples: ['b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'] })),
    purged: Type.Array(Id, {
      description: 'Tenants of the backup that were not restored because they were purged.',
    }),
    purged_records: Type.Record(Type.String(), Type.Integer(), {
      description:
        'The number of records, by table, that were not restored because they were purged, such as purged patients.',
    }),
    deleted: Type.Array(Id, {
      description:
        'Tenants that were created or restored after the backup and were deleted by this restore. They can be restored.',
    }),
  },
  { $id: 'RestoreOutcome' },
)

export const BackupJob = Type.Object(
  {
    job_id: Type.String({ examples: ['5f3d1c0b-9a53-4c0e-8b1e-2f7f2f1f0c11'] }),
    backup_id: Type.String({ examples: ['b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'] }),
    kind: OneOf(JOB_KINDS),
    status: OneOf(BACKUP_STATUSES, COMPLETED),
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
      description:
        '`full`: all tenants, for superadmins. `tenant`: the tenant of the caller, or the one in `tenant_id`.',
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
    status: OneOf(BACKUP_STATUSES),
  },
  { $id: 'StartedBackup' },
)

export const DownloadOrder = Type.Object({
  kind: OneOf(['backup'], { description: 'The kind of file.', examples: ['backup'] }),
  backup_id: Type.String({ maxLength: 200 }),
})
export type DownloadOrder = Static<typeof DownloadOrder>

export const DownloadTicket = Type.Object(
  {
    url: Type.String({
      description:
        'The path of the file on this service. It contains a secret. A browser opens it without an access token.',
      examples: ['/api/admin/downloads/1.q2gQwHxjz3Ll0c1hJ8m4vXk9T5b7Yd6nRf0sUaEoPiM'],
    }),
    expires_at: Timestamp,
  },
  { $id: 'DownloadTicket' },
)
export type DownloadTicket = Static<typeof DownloadTicket>

export const RestoreOrder = Type.Object({
  backup_id: Type.String({ maxLength: 200 }),
  type: Type.Optional(
    OneOf(BACKUP_TYPES, {
      description: '`tenant` with a full backup restores only the tenant in `tenant_id`.',
    }),
  ),
  tenant_id: Type.Optional(Id),
  confirm: Type.Optional(Type.Boolean({ description: 'Must be true unless `dry_run` is true.' })),
  access: OneOf(['merged', 'backup'], {
    default: 'merged',
    description:
      '`merged`: accounts that were blocked, deleted or demoted since the backup stay so. `backup` (superadmins only): restores access exactly as it was.',
  }),
  dry_run: Type.Boolean({
    default: false,
    description: 'Return what a restore would change without changing anything.',
  }),
})
export type RestoreOrder = Static<typeof RestoreOrder>

/** Accepts any text, including paths. An id with an invalid format gets the same 404 response as an unknown backup. */
export const BackupPath = Type.Object({
  backup_id: Type.String({ maxLength: 200, description: 'The id of the backup.' }),
})
export const TicketPath = Type.Object({
  ticket: Type.String({ maxLength: 200, description: 'The secret of the download.' }),
})
export const JobPath = Type.Object({
  job_id: Type.String({ maxLength: 200, description: 'The id of the job.' }),
})
export const DownloadQuery = Type.Object({
  type: Type.Optional(
    OneOf(BACKUP_TYPES, {
      description: 'The expected type. Returns 404 for a backup of another type.',
    }),
  ),
})
