/**
 * Writes that somebody saw records: the reads of a node that are under way share their commits, and
 * no record leaves before its entry is durable (decision 0021).
 */
import { sql } from 'kysely'
import { batcher } from '../../lib/batcher.ts'
import { Problem } from '../../lib/problems.ts'
import type { Caller } from '../access/index.ts'
import { isPassing, type Scopes, statement } from '../db/index.ts'
import type { ACCESSES } from './actions.ts'
import { actorOf, type EntryRow, rowOf } from './append.ts'

/** Between two commits: what comes meanwhile goes together. Nobody waits for it who is alone. */
const GAP_MS = 2
const MAX_TOGETHER = 500
/** Beyond, the database is too slow for what is asked of it, and whoever asks more is told so. */
const MAX_WAITING = 5_000
const STOP_MS = 5_000

/** What somebody saw, and of which records. */
export interface ReadEntry {
  caller: Caller
  action: (typeof ACCESSES)[number]
  tenant_id: number
  resource_type: string
  resource_ids: readonly number[]
  /** Under which it was seen, where it was under one. */
  grant_id?: number | null
  /** What else is worth knowing; never a value of the record, nor what was searched for. */
  changes?: Record<string, unknown>
}

export interface ReadJournal {
  /**
   * Resolves once the entry is durable. Each call is an entry of its own, whoever else reads the same.
   * @throws what the database threw; Problem 503 when too many wait already
   */
  record(entry: ReadEntry): Promise<void>
  /** Writes what waits. */
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
      // Of a database that is away all are told so; what it refuses of one keeps no other out.
      onError: (error) => (isPassing(error) ? 'drop' : 'split'),
    },
  )
  return {
    async record(entry) {
      if (waiting >= MAX_WAITING)
        throw new Problem('busy', {
          detail: 'Too many reads at once; try again shortly',
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

/** One record is the resource of the entry; of several, or none, it tells the ids. */
function readRow({ caller, resource_ids, grant_id, changes, ...entry }: ReadEntry): EntryRow {
  const [one, ...others] = resource_ids
  const isOne = one !== undefined && others.length === 0
  const told = {
    ...changes,
    ...(isOne ? {} : { resource_ids }),
    ...(grant_id ? { grant_id } : {}),
  }
  return rowOf(actorOf(caller), {
    ...entry,
    resource_id: isOne ? one : null,
    ...(Object.keys(told).length > 0 ? { changes: told } : {}),
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

/** The records are taken from what the entry says, so that the two cannot disagree. */
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
