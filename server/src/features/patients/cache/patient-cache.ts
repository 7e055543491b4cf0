/** Patients' records in memory, opened (decision 0023). Who sees one is asked again of each answer. */
import { type Clock, SECOND } from '../../../lib/clock.ts'
import {
  type Changes,
  type CoherentCache,
  coherentCache,
  parseTopic,
  type Topic,
} from '../../../platform/db/index.ts'
import type { LoadPatient } from '../records/load.ts'
import { isReadable, type UnreadableRecord } from '../records/record.ts'
import { bytesOf, type HeldPatient, heldOf } from './held.ts'

/** A patient whose record does not open is answered as such, and never held. */
export type CachedPatient = HeldPatient | UnreadableRecord

export type PatientCache = CoherentCache<number, CachedPatient>

export interface CacheBounds {
  /** 0 for no cache. */
  maxEntries: number
  maxBytes: number
  ttlSeconds: number
}

interface PatientCacheDeps {
  clock: Clock
  changes: Pick<Changes, 'subscribe' | 'trusted'>
  load: LoadPatient
}

export const isHeld = (patient: CachedPatient): patient is HeldPatient => 'open' in patient

export function openPatientCache(
  { clock, changes, load }: PatientCacheDeps,
  { maxEntries, maxBytes, ttlSeconds }: CacheBounds,
): PatientCache {
  const cache: PatientCache = coherentCache<number, CachedPatient>(changes, {
    maxEntries,
    maxBytes,
    ttlMs: ttlSeconds * SECOND,
    now: clock.now,
    async load(tenantId, id) {
      const record = await load(tenantId, id)
      return record && cachedOf(record)
    },
    isKept: isHeld,
    bytesOf: (patient) => (isHeld(patient) ? bytesOf(patient) : 0),
    keyOf: ({ kind, number }) => (kind === 'patient' ? number : undefined),
    // What opened under a key that is gone is gone with it, of whichever tenant.
    tenantKinds: ['tenant', 'patients', 'keys'],
    // Their deletion takes them from their patients without another word.
    labelKinds: ['department', 'user'],
    labelsOf({ department_id, attending_doctor_id }) {
      const labels: Topic[] = []
      if (department_id !== null) labels.push(`department:${department_id}`)
      if (attending_doctor_id !== null) labels.push(`user:${attending_doctor_id}`)
      return labels
    },
  })
  changes.subscribe((topic) => {
    const { kind, number = null } = parseTopic(topic ?? '')
    if (kind === 'expired_patients') cache.dropExpired(number)
  })
  return cache
}

export const cachedOf = (record: Parameters<typeof heldOf>[0] | UnreadableRecord): CachedPatient =>
  isReadable(record) ? heldOf(record) : record
