/** The SQL of tenants that were purged. */
import { sql } from 'kysely'
import type { Connection, TenantTx } from '../../../platform/db/index.ts'
import '../backups.table.ts'
import type { Note } from './notes.ts'
import type { Filed, Rewritten } from './rewrite.ts'

/** One whose note or whose backups' files are still to be seen to. */
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

/** Has the store looked at again, for each that was purged: it may have what nobody knew of. */
export async function lookAgain(tx: TenantTx): Promise<void> {
  await tx.db.updateTable('purged_tenants').set({ erased_at: null }).execute()
}

export async function saveErased(tx: TenantTx, tenantId: number): Promise<void> {
  await tx.db
    .updateTable('purged_tenants')
    .set({ erased_at: sql`now()` })
    .where('id', '=', tenantId)
    .execute()
}

/** Those that were purged, by the database's own record. */
export async function listPurged(tx: TenantTx): Promise<number[]> {
  const rows = await tx.db.selectFrom('purged_tenants').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** As `listPurged`, on a connection of the owner's. */
export async function purgedIn(client: Connection): Promise<number[]> {
  const { rows } = await client.query<{ id: string }>('select id from purged_tenants')
  return rows.map(({ id }) => Number(id))
}

/** Whether the tenant's rows are on their way, past the point from which it can be put back. */
export async function isBeingPurged(client: Connection, tenantId: number): Promise<boolean> {
  const { rows } = await client.query(
    'select from tenants where id = $1 and purge_started_at is not null',
    [tenantId],
  )
  return rows.length > 0
}

/** Enters what notes tell; the store has to be looked at again, as it may be another one. */
export async function enterNotes(client: Connection, notes: readonly Note[]): Promise<void> {
  await client.query('update purged_tenants set erased_at = null')
  for (const { tenant_id, purged_at } of notes)
    await client.query(
      'insert into purged_tenants (id, purged_at) values ($1, $2) on conflict do nothing',
      [tenant_id, purged_at],
    )
}

/** Enters what notes tell of this database. Returns those whose tenants are here all the same. */
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

/** When the job was begun that is at work; null where none is. Its file is named by that. */
export async function startOf(tx: TenantTx, job: string): Promise<string | null> {
  const found = await tx.db
    .selectFrom('backup_jobs')
    .select('started_at')
    .where('id', '=', job)
    .executeTakeFirst()
  return found?.started_at ?? null
}

/** What is known of the file of a backup. */
export async function findFiled(tx: TenantTx, id: string): Promise<Filed | undefined> {
  const { rows } = await sql<Filed>`
    select id, rewritten_at, size_bytes, sha256, records, schema_version
    from backups where id = ${id} and status = 'completed'`.execute(tx.db)
  return rows[0]
}

/** Says that the file is another one now, and was read to its end. */
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

/** A backup of everything that may hold a tenant. */
export interface Holding {
  id: string
  is_whole: boolean
  /** Whether it was written anew without the tenant. */
  is_done: boolean
}

/**
 * The backups of everything from before the tenant's purge, the latest first; none where it was not purged. Longer than an
 * hour behind it no snapshot is as old as the purge.
 */
export async function listHolding(tx: TenantTx, tenantId: number): Promise<Holding[] | undefined> {
  const { rows } = await sql<{ backups: Holding[] | null }>`
    select (select json_agg(json_build_object('id', b.id, 'is_whole', b.status = 'completed',
        'is_done', p.id = any(b.forgotten)) order by b.created_at desc, b.id)
      from backups b where b.type = 'full' and b.status in ('running', 'completed')
        and b.created_at < p.purged_at + interval '1 hour') as backups
    from purged_tenants p where p.id = ${tenantId}`.execute(tx.db)
  return rows[0] && (rows[0].backups ?? [])
}

/** The job that writes a backup anew, where one waits or runs. */
export async function forgettingJob(tx: TenantTx): Promise<string | undefined> {
  const job = await tx.db
    .selectFrom('backup_jobs')
    .select('id')
    .where('kind', '=', 'forget')
    .where('status', 'in', ['queued', 'running'])
    .executeTakeFirst()
  return job?.id
}
