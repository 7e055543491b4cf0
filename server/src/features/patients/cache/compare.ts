/**
 * Compares what this node holds of patients with their rows, some at a time, and writes down what
 * differs: no other node sees its memory. A change that is on its way here is no fault, so what differs
 * counts once it is still held at the next look, by when every change before has been heard.
 */
import { SECOND } from '../../../lib/clock.ts'
import type { Held } from '../../../lib/fair-lru.ts'
import type { Changes, Scopes } from '../../../platform/db/index.ts'
import type { Upkeep } from '../../../platform/upkeep.ts'
import { type CacheFault, type Facts, factsOf, noteFaults } from './faults.store.ts'
import type { HeldPatient } from './held.ts'
import { type CachedPatient, isHeld, type PatientCache } from './patient-cache.ts'

/** Some 2 ms of reading what is held, and one query by keys. */
const SLICE = 1_000
/** Longer than any change takes to be heard while changes are trusted. */
const EVERY_MS = 30 * SECOND

export interface CompareDeps {
  db: Scopes
  changes: Pick<Changes, 'trusted'>
  cache: PatientCache
  /** Which node this is. */
  node: string
}

type Entry = Held<number, CachedPatient>
type Differing = Entry & { fault: CacheFault }

export function comparesCache({ db, changes, cache, node }: CompareDeps): Upkeep {
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
    if (entries.length === 0) return []
    const ids = entries.map(({ key }) => key)
    const rows = await db.acrossTenants((tx) => factsOf(tx, ids), 'read')
    const byId = new Map(rows.map((row) => [row.id, row]))
    return entries.filter(isHeldStill).flatMap((entry) => {
      const fault = faultOf(entry, byId.get(entry.key))
      return fault ? { ...entry, fault } : []
    })
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
function faultOf({ tenantId, key, value }: Entry, row: Facts | undefined): CacheFault | undefined {
  if (!isHeld(value)) return undefined
  const held = factsIn(tenantId, value)
  const differs = row
    ? Object.keys(held).filter((name) => held[name as keyof Facts] !== row[name as keyof Facts])
    : ['deleted']
  if (differs.length === 0) return undefined
  const version = row?.version ?? null
  return {
    tenant_id: tenantId,
    patient_id: key,
    differs,
    held_version: held.version,
    version,
  }
}

function factsIn(tenantId: number, { id, department_id, attending_doctor_id, open }: HeldPatient) {
  const { version, updated_at } = JSON.parse(open) as Pick<Facts, 'version' | 'updated_at'>
  return { id, tenant_id: tenantId, department_id, attending_doctor_id, version, updated_at }
}
