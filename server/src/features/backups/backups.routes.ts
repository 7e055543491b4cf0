/** The HTTP operations under `/api/admin/backup`. */
import { admins, anyone } from '../../platform/access/index.ts'
import { type AnyOperation, FileOf, operation } from '../../platform/http/index.ts'
import {
  Backup,
  BackupJob,
  BackupOrder,
  BackupPath,
  Backups,
  DownloadOrder,
  DownloadQuery,
  DownloadTicket,
  JobPath,
  RestoreOrder,
  StartedBackup,
  TicketPath,
} from './backups.schema.ts'
import type { BackupsService as Service } from './backups.service.ts'

const TAG = 'Backups'

export function backupOperations(backups: Service): AnyOperation[] {
  return [...orders(backups), ...files(backups)]
}

function orders(backups: Service): AnyOperation[] {
  return [
    operation({
      method: 'POST',
      path: '/api/admin/backup/create',
      id: 'createBackup',
      summary: 'Create a backup',
      description:
        'Queues a full backup, or a backup of one tenant. Returns a job whose progress can be polled.',
      records: ['backup.created', 'backup.failed'],
      tag: TAG,
      access: admins,
      body: BackupOrder,
      bodyOptional: true,
      refine: ({ body: { type, tenant_id } }, refuse) => {
        if (type === 'full' && tenant_id !== undefined)
          refuse(['body', 'tenant_id'], 'a full backup contains all tenants. Leave tenant_id out')
      },
      success: [200, StartedBackup],
      refusals: ['other_tenant', 'superadmin_required', 'not_found', 'backup_running'],
      example: { body: { type: 'full' } },
      handle: ({ caller, body }) => backups.create(caller, body),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/backup/restore',
      id: 'restoreBackup',
      summary: 'Restore a backup',
      description:
        'Queues a restore in place, or with `dry_run` a preview of it. Rows written after the backup are lost, and tenants created after a full backup are deleted. `access: merged` keeps access revoked that was revoked since; `access: backup` restores it.',
      records: ['backup.restored', 'backup.failed', 'tenant.deleted'],
      tag: TAG,
      access: admins,
      isFinal: ({ body }) => !body.dry_run,
      body: RestoreOrder,
      refine: ({ body, faulty }, refuse) => {
        const { confirm, dry_run, type, tenant_id } = body
        if (confirm !== true && dry_run === false && !faulty.has('body.confirm'))
          refuse(
            ['body', 'confirm'],
            'must be true, because rows written since the backup will be lost',
          )
        if (type === 'full' && tenant_id !== undefined)
          refuse(['body', 'tenant_id'], 'a full restore covers all tenants. Leave tenant_id out')
      },
      success: [200, StartedBackup],
      refusals: [
        'other_tenant',
        'superadmin_required',
        'not_found',
        'restore_refused',
        'restore_running',
      ],
      example: {
        body: {
          backup_id: 'b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11',
          access: 'merged',
          dry_run: true,
        },
      },
      handle: ({ caller, body }) => backups.restore(caller, body),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/backup/drill/{backup_id}',
      id: 'drillBackup',
      summary: 'Test a backup',
      description:
        'Starts a test restore of a full backup into a temporary server, which proves that the backup can be restored and measures how long that takes. Changes no data. Returns a job whose progress can be polled.',
      records: ['backup.verified', 'backup.failed'],
      tag: TAG,
      access: admins,
      params: BackupPath,
      success: [202, StartedBackup],
      refusals: ['not_found', 'restore_refused', 'drill_running', 'busy'],
      example: { answer: { type: 'full', status: 'running' } },
      handle: ({ caller, path }) => backups.drill(caller, path.backup_id),
    }),
  ]
}

function files(backups: Service): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/backup/list',
      id: 'listBackups',
      summary: 'List backups',
      description: 'Returns the backups that the caller can see, latest first.',

      tag: TAG,
      access: admins,
      list: true,
      success: [200, Backups],
      handle: ({ caller }) => backups.list(caller),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/backup/status/{job_id}',
      id: 'getBackupJob',
      duringMaintenance: true,
      summary: 'Get a backup job',
      description: 'Returns the progress and the result of a job. Available also during a restore.',

      tag: TAG,
      access: admins,
      params: JobPath,
      success: [200, BackupJob],
      refusals: ['not_found'],
      handle: ({ caller, path }) => backups.job(caller, path.job_id),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/backup/download/{backup_id}',
      id: 'downloadBackup',
      summary: 'Download a backup',
      description: 'Streams the encrypted file of a completed backup. Supports range requests.',
      records: ['backup.downloaded'],
      tag: TAG,
      access: admins,
      isFinal: true,
      params: BackupPath,
      query: DownloadQuery,
      success: [200, FileOf('application/octet-stream', { ranges: true })],
      refusals: ['not_found', 'backup_store_away', 'backup_file_gone'],
      handle: ({ caller, path, query }) => backups.download(caller, path.backup_id, query.type),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/downloads',
      id: 'createDownload',
      summary: 'Create a download link',
      description:
        "Returns a link with which the caller's browser downloads the file itself, without an access token. The link must be opened within 60 seconds. It is valid for one download, while the caller's session lasts and from the caller's address. An interrupted download can continue with range requests, at most 20 times within 15 minutes of its start.",
      tag: TAG,
      access: admins,
      isFinal: true,
      body: DownloadOrder,
      success: [201, DownloadTicket],
      refusals: ['not_found', 'backup_store_away', 'backup_file_gone'],
      example: {
        body: { kind: 'backup', backup_id: 'b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11' },
      },
      handle: ({ caller, body }) => backups.tickets.create(caller, body),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/downloads/{ticket}',
      id: 'download',
      summary: 'Download a file by its link',
      description:
        'Streams the file of a download link. Needs no access token, because the link contains a secret. Supports range requests. A used link returns only ranges that start after the first byte.',
      records: ['backup.downloaded'],
      tag: TAG,
      access: anyone,
      params: TicketPath,
      success: [200, FileOf('application/octet-stream', { ranges: true })],
      refusals: ['not_found', 'backup_store_away', 'backup_file_gone'],
      handle: ({ path, origin }) => backups.tickets.open(path.ticket, origin),
    }),
    operation({
      method: 'DELETE',
      path: '/api/admin/backup/{backup_id}',
      id: 'deleteBackup',
      summary: 'Delete a backup',
      description: 'Deletes the backup and its file. A locked backup is kept until its lock ends.',
      records: ['backup.deleted'],
      tag: TAG,
      access: admins,
      isFinal: true,
      params: BackupPath,
      success: [200, Backup],
      refusals: [
        'not_found',
        'backup_in_use',
        'backup_locked',
        'backup_store_away',
        'backup_file_gone',
      ],
      handle: ({ caller, path }) => backups.remove(caller, path.backup_id),
    }),
  ]
}
