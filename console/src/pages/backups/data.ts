/** The requests of the pages "Backups" and "Restore a backup". */
import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { PREFIX } from '../../api/prefix.ts'
import type { PageInfo } from '../../parts/data-table/paging.ts'
import type { ListOptions, ListView } from '../../parts/list/list-search.ts'
import { type Parameter, textParameter } from '../../parts/list/parameters.ts'
import { useClinics } from '../../shell/clinic.ts'
import { type Backup, type Proof, proofsOf, sortBackups } from './backup-facts.ts'

/** The result of a restore, or of its preview. */
export type RestoreOutcome = Schemas['RestoreOutcome']

const noFilters = {}

/** The parameters of a list without filters. */
export type NoFilters = typeof noFilters

/** The order of the list. */
export const backupList: ListOptions<NoFilters> = {
  filters: noFilters,
  sortable: ['created_at', 'size_bytes'],
  sort: { column: 'created_at', direction: 'desc' },
}

const MAX_ID_LENGTH = 100
const REPEAT_MS = 15_000

/** The id of a backup or a job in the URL. */
export const idTextParameter: Parameter<string> = textParameter(MAX_ID_LENGTH)

/** Backups with their page in the list. */
export interface BackupPage extends PageInfo {
  readonly items: readonly Backup[]
  /** All backups that the page lists, latest first. */
  readonly all: readonly Backup[]
  /** The proofs that the clinic can be restored. */
  readonly proofs: readonly Proof[]
}

/**
 * Loads the backups of a clinic, and the full backups that contain it. The API returns all of them at once.
 * @param isListed limits the backups further
 */
export function useBackups(
  clinicId: number,
  view: ListView<NoFilters>,
  isListed: (backup: Backup) => boolean = () => true,
): UseQueryResult<BackupPage> {
  const addedAt = useClinics().find(({ id }) => id === clinicId)?.created_at
  return useQuery({
    queryKey: ['backups', clinicId],
    queryFn: () => take(api.GET('/api/admin/backup/list')),
    refetchInterval: REPEAT_MS,
    select: ({ items, full_backup }) => {
      const all = items.filter(
        (backup) =>
          (backup.tenant_id === null || backup.tenant_id === clinicId) && isListed(backup),
      )
      const proofs = proofsOf({ items: all, full_backup }, addedAt)
      return { ...pageOf(sortBackups(all, view.sort), view), all, proofs }
    },
  })
}

function pageOf(rows: readonly Backup[], { limit, position }: ListView<NoFilters>) {
  const page = position.page ?? 1
  const end = page * limit
  const next = end < rows.length ? String(page + 1) : null
  return { items: rows.slice(end - limit, end), page, limit, total: rows.length, next }
}

/** Returns the commands on backups. Each command reloads the list. */
export function useBackupCommands(clinicId: number) {
  const queries = useQueryClient()
  const reload = () => void queries.invalidateQueries({ queryKey: ['backups', clinicId] })
  const path = (backup_id: string) => ({ params: { path: { backup_id } } })
  return {
    reload,
    /** Starts a backup and returns the id of its job. */
    async create(type: Backup['type']): Promise<string> {
      const body = { type, ...(type === 'tenant' && { tenant_id: clinicId }) }
      const { job_id } = await take(api.POST('/api/admin/backup/create', { body }))
      reload()
      return job_id
    },
    /** Starts a test restore and returns the id of its job. */
    async test(id: string): Promise<string> {
      const started = take(api.POST('/api/admin/backup/drill/{backup_id}', path(id)))
      return (await started).job_id
    },
    /** Returns the URL of a backup's file, with which the browser downloads it. */
    async linkOf(backup_id: string): Promise<string> {
      const body = { kind: 'backup' as const, backup_id }
      const { url } = await take(api.POST('/api/admin/downloads', { body }))
      return `${PREFIX}${url}`
    },
    async remove(id: string): Promise<void> {
      await take(api.DELETE('/api/admin/backup/{backup_id}', path(id)))
      reload()
    },
    /** Starts a restore or its preview, and returns the id of its job. */
    async restore({ backup, tenantId, isPreview }: RestoreChoice): Promise<string> {
      const scope =
        tenantId === null
          ? { type: 'full' as const }
          : { type: 'tenant' as const, tenant_id: tenantId }
      const body = {
        ...scope,
        backup_id: backup,
        access: 'merged' as const,
        dry_run: isPreview,
        confirm: !isPreview,
      }
      return (await take(api.POST('/api/admin/backup/restore', { body }))).job_id
    },
  }
}

interface RestoreChoice {
  readonly backup: string
  /** The clinic to restore; null for all clinics. */
  readonly tenantId: number | null
  readonly isPreview: boolean
}
