/** Departments added at a fixed rate. Measures the time from each journal entry until its leaf is in the log. */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { Agent, request } from 'undici'
import { othersThan, shown } from '../measure/answers.ts'
import { atABeat } from '../measure/beat.ts'
import { DEPARTMENTS_PATH, newDepartment } from './departments.ts'
import { CONNECTIONS } from './scenario.ts'

export interface PacedDepartments {
  url: string
  callers: Record<string, string>[]
  database: pg.Client
  /** The departments per second. */
  rate: number
  seconds: number
}

/** The interval of polls of the leaves. Each time includes up to one interval. */
const LOOK_MS = 50
/** The time after the last response in which all entries have to be sealed. */
const PATIENCE_MS = 30_000

/** A log of a tenant, with the index of its first leaf that was not seen yet. */
interface LogEnd {
  tenant: string
  epoch: number
  next: number
}

const ENDS = `select tenant_id as tenant, epoch, size::float8 as next from audit_logs`

/**
 * Selects the new leaves, with their ages by the database's clock. The snapshot is taken before the clock is read, so
 * the leaf was visible at that time.
 */
const NEW_LEAVES = `
  select log.tenant_id as tenant, log.epoch, leaf.index::float8 as index, leaf.entry_id as entry,
    (extract(epoch from clock_timestamp() - leaf.created_at) * 1000)::float8 as ms
  from audit_logs log
    left join unnest($1::bigint[], $2::integer[], $3::bigint[]) as seen(tenant_id, epoch, next)
      using (tenant_id, epoch)
    cross join lateral (
      select index, entry_id, created_at from audit_leaves
      where tenant_id = log.tenant_id and epoch = log.epoch and index >= coalesce(seen.next, 0)
      order by index limit 100000) leaf`

/**
 * Adds departments at the rate, however long the responses take.
 * @returns the milliseconds from each entry's transaction until a poll saw its leaf
 * @throws Error if any entry is not sealed
 */
export async function pacedDepartments(load: PacedDepartments): Promise<number[]> {
  const { url, callers, database, rate, seconds } = load
  const agent = new Agent({ connections: CONNECTIONS, pipelining: 1 })
  const leaves = await openLeaves(database)
  const last = 'select coalesce(max(id), 0) as id from journal'
  const after = (await database.query(last)).rows[0].id as string
  let isOver = false
  const follow = async () => {
    while (!isOver) {
      await leaves.look()
      await delay(LOOK_MS)
    }
  }
  const add = async (turn: number) => {
    const { statusCode, body } = await request(`${url}${DEPARTMENTS_PATH}`, {
      dispatcher: agent,
      method: 'POST',
      headers: callers[turn % callers.length] ?? {},
      body: newDepartment(),
    })
    await body.dump()
    return statusCode
  }
  try {
    const beat = atABeat(1000 / rate, seconds, add).finally(() => {
      isOver = true
    })
    const [{ answers }] = await Promise.all([beat, follow()])
    if (othersThan(answers, (status) => status === 201) > 0)
      throw new Error(`answers other than 201 (${shown(answers)}); nothing was measured`)
    const { rows } = await database.query('select id from journal where id > $1', [after])
    const entries = rows.map(({ id }) => String(id))
    if (entries.length < (answers['201'] ?? 0))
      throw new Error(`${answers['201']} departments have only ${entries.length} entries`)
    return await leaves.agesOf(entries)
  } finally {
    await agent.close()
  }
}

/** Opens a view of the leaves that follow those of now. */
async function openLeaves(database: pg.Client) {
  const ends = new Map<string, LogEnd>()
  const advance = (end: LogEnd) => void ends.set(`${end.tenant} ${end.epoch}`, end)
  const { rows } = await database.query<LogEnd>(ENDS)
  for (const row of rows) advance(row)
  const ages = new Map<string, number>()

  async function look(): Promise<void> {
    const known = [...ends.values()]
    const found = await database.query<Omit<LogEnd, 'next'> & Leaf>({
      name: 'new-leaves',
      text: NEW_LEAVES,
      values: [
        known.map(({ tenant }) => tenant),
        known.map(({ epoch }) => epoch),
        known.map(({ next }) => next),
      ],
    })
    // The rows of each log are in the order of their indexes.
    for (const { tenant, epoch, index, entry, ms } of found.rows) {
      ages.set(String(entry), ms)
      advance({ tenant, epoch, next: index + 1 })
    }
  }

  return {
    look,
    /** Waits for the leaves of these entries. Returns how old each entry was when its leaf was seen. */
    async agesOf(entries: readonly string[]): Promise<number[]> {
      const end = performance.now() + PATIENCE_MS
      let missing = entries
      for (;;) {
        await look()
        missing = missing.filter((entry) => !ages.has(entry))
        if (missing.length === 0) return entries.map((entry) => ages.get(entry) ?? Number.NaN)
        if (performance.now() > end)
          throw new Error(
            `${missing.length} of ${entries.length} entries are not sealed after ${PATIENCE_MS / 1000} s`,
          )
        await delay(LOOK_MS)
      }
    },
  }
}

interface Leaf {
  index: number
  entry: string
  ms: number
}
