/** The SQL for purged tenants. */
import { sql } from 'kysely'
import type { PgConnection, TenantTx } from '../../../platform/db/index.ts'
import '../backups.table.ts'
import type { Note } from './purge-notes.ts'
import type { Filed, Rewritten } from './rewrite.ts'

/** A purged tenant, and the ids of its own backups, whose files must be deleted. */
export interface Purged extends Note {
  backups: string[]
}

const PURGED = sql`select p.id as tenant_id, i.id as installation, p.purged_at, p.backups
  from purged_tenants p, installation i`

export async function listUnerased(tx: TenantTx): Promise<Purged[]> {
  const { rows } = await sql<Purged>`
    ${PURGED} where p.erased_at is null order by p.id`.execute(tx.db)
  return rows
}

export async function findPurged(tx: TenantTx, tenantId: number): Promise<Purged | undefined> {
  const { rows } = await sql<Purged>`${PURGED} where p.id = ${tenantId}`.execute(tx.db)
  return rows[0]
}

/** Marks every purged tenant to be checked again, because the store may contain unknown backup files. */
export async function scheduleErasureCheck(tx: TenantTx): Promise<void> {
  await tx.db.updateTable('purged_tenants').set({ erased_at: null }).execute()
}

export async function saveErased(tx: TenantTx, tenantId: number): Promise<void> {
  await tx.db
    .updateTable('purged_tenants')
    .set({ erased_at: sql`now()` })
    .where('id', '=', tenantId)
    .execute()
}

export async function listPurged(tx: TenantTx): Promise<number[]> {
  const rows = await tx.db.selectFrom('purged_tenants').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** Does the same as `listPurged`, on a connection of the database owner. */
export async function purgedIn(client: PgConnection): Promise<number[]> {
  const { rows } = await client.query<{ id: string }>('select id from purged_tenants')
  return rows.map(({ id }) => Number(id))
}

/** Returns true if the purge of the tenant has started. The tenant can then no longer be restored. */
export async function isBeingPurged(client: PgConnection, tenantId: number): Promise<boolean> {
  const { rows } = await client.query(
    'select from tenants where id = $1 and purge_started_at is not null',
    [tenantId],
  )
  return rows.length > 0
}

/** Records the purged tenants listed in notes. Schedules another check of the store, which may be a different one. */
export async function enterNotes(client: PgConnection, notes: readonly Note[]): Promise<void> {
  await client.query('update purged_tenants set erased_at = null')
  for (const { tenant_id, purged_at } of notes)
    await client.query(
      'insert into purged_tenants (id, purged_at) values ($1, $2) on conflict do nothing',
      [tenant_id, purged_at],
    )
}

/** Records purged tenants from notes. Returns the notes that are wrong, because their tenant still exists. */
export async function enterPurged(tx: TenantTx, notes: readonly Note[]): Promise<Note[]> {
  const wrong: Note[] = []
  for (const note of notes) {
    const { rows } = await sql<{ is_here: boolean; is_own: boolean }>`
      select exists (select from tenants where id = ${note.tenant_id}) as is_here,
        id = ${note.installation} as is_own from installation`.execute(tx.db)
    if (!rows[0]?.is_own) continue
    if (rows[0].is_here) wrong.push(note)
    else
      await sql`insert into purged_tenants (id, purged_at)
        values (${note.tenant_id}, ${note.purged_at}) on conflict do nothing`.execute(tx.db)
  }
  return wrong
}

/** Returns when the job was started, which is part of its file name; null if it is unknown or not started. */
export async function startOfJob(tx: TenantTx, job: string): Promise<string | null> {
  const found = await tx.db
    .selectFrom('backup_jobs')
    .select('started_at')
    .where('id', '=', job)
    .executeTakeFirst()
  return found?.started_at ?? null
}

/** Returns what is recorded about the file of a completed backup; undefined if there is no such backup. */
export async function findFiled(tx: TenantTx, id: string): Promise<Filed | undefined> {
  const { rows } = await sql<Filed>`
    select id, rewritten_at, size_bytes, sha256, records, schema_version
    from backups where id = ${id} and status = 'completed'`.execute(tx.db)
  return rows[0]
}

/** Records that the backup's file was replaced, and that the new file was verified. */
export async function saveRewritten(tx: TenantTx, id: string, made: Rewritten): Promise<void> {
  await tx.db
    .updateTable('backups')
    .set({
      ...made,
      verified_at: sql`now()`,
      checked_at: sql`now()`,
      drill_seconds: null,
      fault: null,
    })
    .where('id', '=', id)
    .execute()
}

/** A full backup that may contain a tenant. */
export interface StoredFiles {
  id: string
  is_whole: boolean
  /** True if the backup was already rewritten to remove the tenant. */
  is_done: boolean
}

/**
 * Returns the full backups that may contain a purged tenant, latest first. Returns undefined if the tenant was not
 * purged. Includes backups created up to an hour after the purge, because their snapshot may be older.
 */
export async function listContaining(
  tx: TenantTx,
  tenantId: number,
): Promise<StoredFiles[] | undefined> {
  const { rows } = await sql<{ backups: StoredFiles[] | null }>`
    select (select json_agg(json_build_object('id', b.id, 'is_whole', b.status = 'completed',
        'is_done', p.id = any(b.forgotten)) order by b.created_at desc, b.id)
      from backups b where b.type = 'full' and b.status in ('running', 'completed')
        and b.created_at < p.purged_at + interval '1 hour') as backups
    from purged_tenants p where p.id = ${tenantId}`.execute(tx.db)
  return rows[0] && (rows[0].backups ?? [])
}

/** Returns the id of the queued or running job that rewrites a backup; undefined if there is none. */
export async function forgettingJob(tx: TenantTx): Promise<string | undefined> {
  const job = await tx.db
    .selectFrom('backup_jobs')
    .select('id')
    .where('kind', '=', 'forget')
    .where('status', 'in', ['queued', 'running'])
    .executeTakeFirst()
  return job?.id
}
