/**
 * Compares what this node holds of patients with their rows, opened, some at a time, and writes down what
 * differs: no other node sees its memory. A change that is on its way here is no fault, so what differs
 * counts once it is still held at the next look, by when every change before has been heard.
 */
import { isDeepStrictEqual } from 'node:util'
import { SECOND } from '../../../lib/clock.ts'
import type { Held } from '../../../lib/fair-lru.ts'
import type { Changes, Scopes } from '../../../platform/db/index.ts'
import type { Upkeep } from '../../../platform/upkeep.ts'
import type { LoadAnybody, Loaded } from '../records/load.ts'
import { isReadable } from '../records/record.ts'
import { type CacheFault, noteFaults } from './faults.store.ts'
import { type HeldPatient, heldOf } from './held.ts'
import { type CachedPatient, isHeld, type PatientCache } from './patient-cache.ts'

/** Some 100 ms of opening records, a few at a time, so that others have their turn between. */
const SLICE = 1_000
/** Of one query: all of them together could take much memory. */
const TOGETHER = 100
/** Longer than any change takes to be heard while changes are trusted. */
const EVERY_MS = 30 * SECOND

export interface CompareDeps {
  db: Scopes
  changes: Pick<Changes, 'trusted'>
  cache: PatientCache
  load: LoadAnybody
  /** Which node this is. */
  node: string
}

type Entry = Held<number, CachedPatient>
type Differing = Entry & { fault: CacheFault }

export function comparesCache({ db, changes, cache, load, node }: CompareDeps): Upkeep {
  let walk = cache.all()
  let suspects: readonly Entry[] = []
  /** Whether there may be something of this node's to take back, as after a crash. */
  let hasNoted = true

  const isHeldStill = ({ tenantId, key, value }: Entry) => cache.peek(tenantId, key) === value

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

  /** Those that differ from their rows, and were not let go of while these were read. */
  async function differing(entries: readonly Entry[]): Promise<Differing[]> {
    const found: Differing[] = []
    for (let from = 0; from < entries.length; from += TOGETHER) {
      const some = entries.slice(from, from + TOGETHER)
      const records = await load(some.map(({ key }) => key))
      const byId = new Map(records.map((record) => [record.id, record]))
      for (const entry of some.filter(isHeldStill)) {
        const fault = faultOf(entry, byId.get(entry.key))
        if (fault) found.push({ ...entry, fault })
      }
    }
    return found
  }

  return {
    what: 'comparing cached patients with the database',
    everyMs: EVERY_MS,
    isNeededToServe: false,
    async run() {
      // What may have been missed is believed by nobody, and dropped once changes are heard again.
      if (!changes.trusted()) return
      const faulty = await differing(suspects.filter(isHeldStill))
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

/** How what is held differs from the patient's row; undefined where it does not. */
function faultOf(
  { tenantId, key, value }: Entry,
  record: Loaded | undefined,
): CacheFault | undefined {
  if (!isHeld(value)) return undefined
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

/** The names of the fields; never what is in them. */
function differencesOf(held: HeldPatient, record: Loaded | undefined): string[] {
  if (!record) return ['deleted']
  if (!isReadable(record)) return record.unreadable.map((field) => `${field} does not open`)
  const fresh = heldOf(record)
  if (held.open === fresh.open && held.clinical === fresh.clinical) return []
  const [before, now] = [fieldsOf(held), fieldsOf(fresh)]
  return Object.keys(now).filter((name) => !isDeepStrictEqual(before[name], now[name]))
}

const fieldsOf = ({ open, clinical }: HeldPatient): Record<string, unknown> => ({
  ...JSON.parse(open),
  ...JSON.parse(clinical),
})
