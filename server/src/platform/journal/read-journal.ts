/** Journals accesses. No record is sent before its entry is durable (decision 0021). Reads share commits. */
import { sql } from 'kysely'
import { batcher } from '../../lib/batcher.ts'
import { Problem } from '../../lib/problems.ts'
import type { Caller } from '../access/index.ts'
import { type EntryKey, isPassing, type Scopes, statement } from '../db/index.ts'
import type { ACCESSES } from './actions.ts'
import {
  actorOf,
  arraysOf,
  type EntryArrays,
  type EntryRow,
  NAMES,
  rowOf,
  rowsFrom,
} from './append.ts'

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
    (rows) => db.acrossTenants(async (tx) => tx.send(insertReads(arraysOf(rows)))),
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
        await batches.add(readRow(db.entryKey, entry))
      } finally {
        waiting -= 1
      }
    },
    stop: () => batches.stop(STOP_MS),
  }
}

/** Returns the row of a read: a single record as the resource, several by id in the changes. */
function readRow(
  key: EntryKey,
  { caller, resource_ids, grant_id, changes, ...entry }: ReadEntry,
): EntryRow {
  const [one, ...others] = resource_ids
  const isOne = one !== undefined && others.length === 0
  const shown = {
    ...changes,
    ...(isOne ? {} : { resource_ids }),
    ...(grant_id ? { grant_id } : {}),
  }
  return rowOf(key, actorOf(caller), {
    ...entry,
    resource_id: isOne ? one : null,
    ...(Object.keys(shown).length > 0 ? { changes: shown } : {}),
  })
}

/** Inserts entries and their resources. Takes the resource ids from the stored changes, so that both tables agree. */
const insertReads = statement<EntryArrays>(
  (value) => sql`
    with entries as (
      insert into journal (is_access, ${NAMES}) select true, ${NAMES} from ${rowsFrom(value)}
      returning tenant_id, resource_type, created_at, id, changes)
    insert into journal_resources (tenant_id, resource_type, resource_id, created_at, entry_id)
    select distinct tenant_id, resource_type, record::bigint, created_at, id
    from entries, jsonb_array_elements(changes -> 'resource_ids') as record`,
)
