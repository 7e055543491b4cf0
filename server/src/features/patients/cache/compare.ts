/**
 * Compares this node's cached patients with their database rows, a slice per run. Stores the differences in the
 * database, because other nodes cannot read this cache. A difference counts only if the next run finds it again,
 * because a change notification may still be on its way.
 */
import { isDeepStrictEqual } from 'node:util'
import { SECOND } from '../../../lib/clock.ts'
import type { CachedValue } from '../../../lib/fair-lru.ts'
import type { Changes, Scopes } from '../../../platform/db/index.ts'
import type { Upkeep } from '../../../platform/lifecycle/upkeep.ts'
import type { LoadAnybody, Loaded } from '../records/load.ts'
import { isReadable } from '../records/record.ts'
import { type CachedRecord, cachedRecordOf } from './cached-patient.ts'
import { type CacheFault, noteFaults } from './faults.store.ts'
import { type CachedPatient, hasRecord, type PatientCache } from './patient-cache.ts'

/** The number of patients per run. They take about 100 ms to decrypt, in batches between which other work can run. */
const SLICE = 1_000
/** The maximum number of patients per query, to limit memory. */
const TOGETHER = 100
/** The time between two runs. As long as the node trusts its notifications, a notification arrives in less time. */
const EVERY_MS = 30 * SECOND

export interface CompareDeps {
  db: Scopes
  changes: Pick<Changes, 'trusted'>
  cache: PatientCache
  load: LoadAnybody
  node: string
}

type Entry = CachedValue<number, CachedPatient>
type Differing = Entry & { fault: CacheFault }

export function comparesCache({ db, changes, cache, load, node }: CompareDeps): Upkeep {
  let walk = cache.all()
  let suspects: readonly Entry[] = []
  /**
   * True if this node may have recorded faults that must be deleted. Initially true, because the node may have crashed
   * before.
   */
  let hasNoted = true

  const isStillCached = ({ tenantId, key, value }: Entry) => cache.peek(tenantId, key) === value

  function nextSlice(): Entry[] {
    const slice: Entry[] = []
    while (slice.length < SLICE) {
      const { value, done } = walk.next()
      if (done) {
        walk = cache.all()
        break
      }
      slice.push(value)
    }
    return slice
  }

  /** Returns the cached patients that differ from their rows and were still cached after the rows were read. */
  async function differing(entries: readonly Entry[]): Promise<Differing[]> {
    const found: Differing[] = []
    for (let from = 0; from < entries.length; from += TOGETHER) {
      const some = entries.slice(from, from + TOGETHER)
      const records = await load(some.map(({ key }) => key))
      const byId = new Map(records.map((record) => [record.id, record]))
      for (const entry of some.filter(isStillCached)) {
        const fault = faultOf(entry, byId.get(entry.key))
        if (fault) found.push({ ...entry, fault })
      }
    }
    return found
  }

  return {
    what: 'comparison of cached patients with the database',
    everyMs: EVERY_MS,
    isNeededToServe: false,
    async run() {
      // Compares nothing if notifications may be missing, because this node then does not use its cached patients.
      if (!changes.trusted()) return
      const faulty = await differing(suspects.filter(isStillCached))
      const known = new Set(faulty.map(({ key }) => key))
      const found = await differing(nextSlice().filter(({ key }) => !known.has(key)))
      suspects = [...faulty, ...found]
      if (faulty.length === 0 && !hasNoted) return
      const faults = faulty.map(({ fault }) => fault)
      const { entries } = cache.stats(null)
      await db.acrossTenants((tx) => noteFaults(tx, node, entries, faults))
      hasNoted = faults.length > 0
    },
  }
}

/** Returns how a cached patient differs from its row. Undefined if equal, or if decryption failed. */
function faultOf(
  { tenantId, key, value }: Entry,
  record: Loaded | undefined,
): CacheFault | undefined {
  if (!hasRecord(value)) return undefined
  const differs = differencesOf(value, record)
  if (differs.length === 0) return undefined
  return {
    tenant_id: tenantId,
    patient_id: key,
    differs,
    held_version: Number(fieldsOf(value).version),
    version: record?.version ?? null,
  }
}

/** Returns the names of the fields that differ. Never contains their values. */
function differencesOf(cached: CachedRecord, record: Loaded | undefined): string[] {
  if (!record) return ['deleted']
  if (!isReadable(record)) return record.unreadable.map((field) => `${field} cannot be decrypted`)
  const fresh = cachedRecordOf(record)
  if (cached.open === fresh.open && cached.clinical === fresh.clinical) return []
  const [before, now] = [fieldsOf(cached), fieldsOf(fresh)]
  return Object.keys(now).filter((name) => !isDeepStrictEqual(before[name], now[name]))
}

const fieldsOf = ({ open, clinical }: CachedRecord): Record<string, unknown> => ({
  ...JSON.parse(open),
  ...JSON.parse(clinical),
})
