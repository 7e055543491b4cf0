/** The in-memory cache of decrypted patients (decision 0023). Each request checks the caller's access again. */
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
import { type CachedRecord, cachedRecordOf, sizeOfPatient } from './cached-patient.ts'

/** A patient that the cache returns. A record that cannot be decrypted is returned but never cached. */
export type CachedPatient = CachedRecord | UnreadableRecord

export type PatientCache = CoherentCache<number, CachedPatient>

export interface CacheBounds {
  /** The maximum number of cached patients; 0 disables the cache. */
  maxEntries: number
  maxBytes: number
  ttlSeconds: number
}

interface PatientCacheDeps {
  clock: Clock
  changes: Pick<Changes, 'subscribe' | 'trusted'>
  load: LoadPatient
}

export const hasRecord = (patient: CachedPatient): patient is CachedRecord => 'open' in patient

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
    isKept: hasRecord,
    bytesOf: (patient) => (hasRecord(patient) ? sizeOfPatient(patient) : 0),
    keyOf: ({ kind, number }) => (kind === 'patient' ? number : undefined),
    // Drops all cached patients after a change of keys. Deleting a key must also delete the decrypted data from memory.
    tenantKinds: ['tenant', 'patients', 'keys'],
    // Deleting a department or user changes its patients without a notification for each of them.
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

export const cachedOf = (
  record: Parameters<typeof cachedRecordOf>[0] | UnreadableRecord,
): CachedPatient => (isReadable(record) ? cachedRecordOf(record) : record)
