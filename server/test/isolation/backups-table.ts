/** The access table of backups and of jobs. */
import { admins, everyone, type Line, nothing, operators } from './lines.ts'
import type { Target } from './scene.ts'

const atBackup = ({ backupId }: Target) => ({ path: { backup_id: backupId } })

export const BACKUPS: readonly Line[] = [
  {
    name: 'POST /api/admin/backup/create',
    aim: ({ tenantId }) => ({ body: { type: 'tenant', tenant_id: tenantId } }),
    own: admins(200),
    foreign: admins(200, 403),
  },
  {
    name: 'POST /api/admin/backup/create',
    what: 'of everything',
    aim: () => ({ body: { type: 'full' } }),
    own: operators(200),
  },
  {
    name: 'POST /api/admin/backup/restore',
    aim: ({ backupId }) => ({ body: { backup_id: backupId, dry_run: true } }),
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'POST /api/admin/backup/restore',
    what: 'with its access',
    aim: ({ backupId }) => ({ body: { backup_id: backupId, dry_run: true, access: 'backup' } }),
    own: operators(200),
  },
  { name: 'GET /api/admin/backup/list', aim: nothing, own: admins(200) },
  {
    name: 'GET /api/admin/backup/status/{job_id}',
    aim: ({ jobId }) => ({ path: { job_id: jobId } }),
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'GET /api/admin/jobs',
    aim: ({ tenantId }) => ({ query: { tenant_id: tenantId } }),
    own: admins(200),
    foreign: admins(200, 403),
  },
  {
    name: 'GET /api/admin/jobs/{job_id}',
    aim: ({ jobId }) => ({ path: { job_id: jobId } }),
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'DELETE /api/admin/jobs/{job_id}',
    what: 'that has ended',
    aim: ({ jobId }) => ({ path: { job_id: jobId } }),
    own: admins(409),
    foreign: admins(409, 404),
  },
  {
    name: 'GET /api/admin/backup/download/{backup_id}',
    aim: atBackup,
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'POST /api/admin/backup/drill/{backup_id}',
    what: 'of one tenant',
    aim: atBackup,
    own: admins(409),
    foreign: admins(409, 404),
  },
  {
    name: 'POST /api/admin/downloads',
    what: 'of a backup',
    aim: ({ backupId }) => ({ body: { kind: 'backup', backup_id: backupId } }),
    own: admins(201),
    foreign: admins(201, 404),
  },
  {
    name: 'GET /api/admin/downloads/{ticket}',
    what: 'with an unknown ticket',
    aim: ({ tenantId }) => ({ path: { ticket: `${tenantId}.${'A'.repeat(43)}` } }),
    own: everyone(404),
    foreign: everyone(404),
  },
  {
    name: 'DELETE /api/admin/backup/{backup_id}',
    aim: atBackup,
    own: admins(200),
    foreign: admins(200, 404),
  },
]
