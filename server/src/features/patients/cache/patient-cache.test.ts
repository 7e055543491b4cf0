/** Tests when the patient cache stores and drops patients, what it returns, and how it estimates memory. */
import { describe, expect, test } from 'vitest'
import { hearing } from '../../../../test/support/change-notifications.ts'
import type { Caller } from '../../../platform/access/index.ts'
import type { Topic } from '../../../platform/db/index.ts'
import type { LoadPatient } from '../records/load.ts'
import type { PatientRecord, UnreadableRecord } from '../records/record.ts'
import { shownTo } from '../records/visible-fields.ts'
import { cachedRecordOf, sizeOfPatient, textFor } from './cached-patient.ts'
import { openPatientCache } from './patient-cache.ts'

const RECORD: PatientRecord = {
  ...{ id: 7, tenant_id: 3, department_id: 11, attending_doctor_id: 5, version: 2 },
  created_at: '2026-11-21T10:00:00.000Z',
  updated_at: '2026-11-21T11:00:00.000Z',
  deleted_at: null,
  full_name: 'José "Pepe" Müller',
  birth_date: '1931-04-05',
  sex: 'male',
  identifiers: [{ system: 'insurer', value: 'A1' }],
  ...{ phone: null, email: null, address: 'Street 1\n12345 Town' },
  allergies: ['Penicillin'],
  notes: 'Likes tea.',
}

/** Returns a cache from which sixteen concurrent callers have requested the record. */
async function holding(record: PatientRecord | UnreadableRecord | null = RECORD) {
  const heard = hearing()
  const loads: Parameters<LoadPatient>[] = []
  const load: LoadPatient = async (...asked) => {
    loads.push(asked)
    return record ?? undefined
  }
  const bounds = { maxEntries: 10, maxBytes: 100_000, ttlSeconds: 60 }
  const cache = openPatientCache({ clock: { now: () => 0 }, changes: heard.changes, load }, bounds)
  await Promise.all(Array.from({ length: 16 }, () => cache.get(3, 7)))
  return { cache, heard, loads }
}

test('the patient cache loads a patient once for sixteen concurrent readers and caches it', async () => {
  const { cache, loads } = await holding()
  expect(cache.get(3, 7)).toEqual(cachedRecordOf(RECORD))
  expect(loads).toEqual([[3, 7]])
})

describe('a cached patient', () => {
  test.each(['patient:7', 'tenant:3', 'patients:3', 'patients', 'keys', 'department:11', 'user:5'])(
    'is dropped after a notification of %s',
    async (topic) => {
      const { cache, heard } = await holding()
      heard.changes.invalidate([topic as Topic])
      expect(cache.has(3, 7)).toBe(false)
    },
  )

  test.each([
    'patient:8',
    'tenant:7',
    'patients:7',
    'department:5',
    'user:11',
    'journal',
    'expired_patients',
  ])('stays cached after a notification of %s', async (topic) => {
    const { cache, heard } = await holding()
    heard.changes.invalidate([topic as Topic])
    expect(cache.has(3, 7)).toBe(true)
  })
})

test('the patient cache loads the patient from the database on every read while notifications may be missed', async () => {
  const { cache, heard, loads } = await holding()
  heard.trusted = false
  await Promise.all([cache.get(3, 7), cache.get(3, 7)])
  expect(loads).toHaveLength(3)
  expect(cache.stats(3)).toMatchObject({ hits: 0, misses: 18 })
})

test.each<[string, UnreadableRecord | null]>([
  ['does not exist', null],
  ['cannot be decrypted', { ...RECORD, unreadable: ['notes'] }],
])('the patient cache never caches a patient who %s', async (_, record) => {
  const { cache, loads } = await holding(record)
  expect((await cache.get(3, 7)) ?? null).toEqual(record)
  expect([loads.length, cache.stats(3).entries]).toEqual([2, 0])
})

describe('a cached patient as text', () => {
  test.each(['admin', 'doctor', 'nurse', 'receptionist', 'auditor'] as const)(
    "contains the same fields for the role %s as the patient's record",
    (role) => {
      const caller = { role } as Caller
      const { text } = textFor(caller, cachedRecordOf(RECORD))
      expect(JSON.parse(text)).toEqual(shownTo(caller, RECORD))
      expect(text.includes('Penicillin')).toBe(role !== 'receptionist' && role !== 'auditor')
    },
  )
})

test('the patient cache estimates the size of text: one byte per Latin-1 character, two per other character', () => {
  const weightOf = (notes: string) => sizeOfPatient(cachedRecordOf({ ...RECORD, notes }))
  const [none, latin, greek] = ['', 'é'.repeat(1_000), 'ω'.repeat(1_000)].map(weightOf) as [
    number,
    number,
    number,
  ]
  expect(latin - none).toBe(1_000)
  expect(greek - none).toBeGreaterThanOrEqual(2_000)
  expect(none).toBeGreaterThan(JSON.stringify(RECORD).length)
})
