/** Journals accesses. No record is sent before its entry is durable (decision 0021). Reads share commits. */
import { sql } from 'kysely'
import { batcher } from '../../lib/batcher.ts'
import { Problem } from '../../lib/problems.ts'
import type { Caller } from '../access/index.ts'
import { isPassing, type Scopes, statement } from '../db/index.ts'
import type { ACCESSES } from './actions.ts'
import { actorOf, type EntryRow, rowOf } from './append.ts'

/** Minimum gap between commits, so that concurrent entries share a commit. A single read never waits for the gap. */
const GAP_MS = 2
const MAX_TOGETHER = 500
/** Maximum number of waiting reads. If more arrive, the database is too slow, and further reads are rejected. */
const MAX_WAITING = 5_000
const STOP_MS = 5_000

export interface ReadEntry {
  caller: Caller
  action: (typeof ACCESSES)[number]
  tenant_id: number
  resource_type: string
  resource_ids: readonly number[]
  /** The id of the break-glass grant that allowed the access, if any. */
  grant_id?: number | null
  /** Further details of the access. They must not contain values of the record or search terms. */
  changes?: Record<string, unknown>
}

export interface ReadJournal {
  /**
   * Resolves when the entry is durable. Each call adds one. @throws the database's error, or Problem 503 on overload
   */
  record(entry: ReadEntry): Promise<void>
  /** Writes the waiting entries, then stops. */
  stop(): Promise<void>
}

export function openReadJournal(db: Scopes): ReadJournal {
  let waiting = 0
  const batches = batcher<EntryRow>(
    (rows) => db.acrossTenants(async (tx) => tx.send(insertReads(columnsOf(rows)))),
    {
      clock: db.clock,
      maxItems: MAX_TOGETHER,
      minGapMs: GAP_MS,
      // If the database is unavailable, all entries fail. If it rejects a single entry, the others are still written.
      onError: (error) => (isPassing(error) ? 'drop' : 'split'),
    },
  )
  return {
    async record(entry) {
      if (waiting >= MAX_WAITING)
        throw new Problem('busy', {
          detail: 'Too many reads at once. Try again shortly.',
          retryAfter: 1,
        })
      waiting += 1
      try {
        await batches.add(readRow(entry))
      } finally {
        waiting -= 1
      }
    },
    stop: () => batches.stop(STOP_MS),
  }
}

/** Returns the row of a read: a single record as the resource, several by id in the changes. */
function readRow({ caller, resource_ids, grant_id, changes, ...entry }: ReadEntry): EntryRow {
  const [one, ...others] = resource_ids
  const isOne = one !== undefined && others.length === 0
  const shown = {
    ...changes,
    ...(isOne ? {} : { resource_ids }),
    ...(grant_id ? { grant_id } : {}),
  }
  return rowOf(actorOf(caller), {
    ...entry,
    resource_id: isOne ? one : null,
    ...(Object.keys(shown).length > 0 ? { changes: shown } : {}),
  })
}

const TYPES = {
  tenant_id: 'bigint',
  user_id: 'bigint',
  user_email: 'text',
  action: 'text',
  resource_type: 'text',
  resource_id: 'text',
  changes: 'jsonb',
  ip: 'text',
  user_agent: 'text',
  request_id: 'uuid',
} satisfies Record<keyof EntryRow, string>
const COLUMNS = Object.keys(TYPES) as (keyof EntryRow)[]

type Columns = { [K in keyof EntryRow]: EntryRow[K][] }

const columnsOf = (rows: readonly EntryRow[]) =>
  Object.fromEntries(COLUMNS.map((name) => [name, rows.map((row) => row[name])])) as Columns

/** Inserts entries and their resources. Takes the resource ids from the stored changes, so that both tables agree. */
const insertReads = statement<Columns>(
  (value) => sql`
    with entries as (
      insert into journal (is_access, ${sql.join(COLUMNS.map((name) => sql.ref(name)))})
      select true, * from unnest(${sql.join(
        COLUMNS.map((name) => sql`${value(name)}::${sql.raw(TYPES[name])}[]`),
      )})
      returning tenant_id, resource_type, created_at, id, changes)
    insert into journal_resources (tenant_id, resource_type, resource_id, created_at, entry_id)
    select distinct tenant_id, resource_type, record::bigint, created_at, id
    from entries, jsonb_array_elements(changes -> 'resource_ids') as record`,
)
