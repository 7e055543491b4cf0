/**
 * A transaction that began before a rotation may still write with the old keys. No data is lost, and no request waits.
 */
import { expect, test } from 'vitest'
import type { PatientFields } from '../../src/features/patients/records/fields.ts'
import { sealFields } from '../../src/features/patients/records/record.ts'
import {
  insertPatient,
  insertTokens,
  nextPatientIds,
  updatePatient,
} from '../../src/features/patients/records/records.store.ts'
import { tokensOf } from '../../src/features/patients/search/tokens.ts'
import {
  type KeyRing,
  openKeyRing,
  openSealer,
  type TenantKeys,
} from '../../src/platform/crypto/index.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { openPatientScene, type PatientScene } from '../patients/scene.ts'
import { gate, unheard } from '../sessions/scopes.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openRotations } from './scene.ts'

const fieldsOf = (full_name: string, value: string): PatientFields => ({
  full_name,
  birth_date: null,
  sex: null,
  identifiers: [{ system: 'ward', value }],
  phone: null,
  email: null,
  address: null,
  allergies: [],
  notes: null,
})

async function insert(tx: TenantTx, keys: TenantKeys, fields: PatientFields): Promise<number> {
  const [id = 0] = await nextPatientIds(tx, 1)
  const place = { id, tenant_id: keys.tenantId, department_id: null, attending_doctor_id: null }
  await insertPatient(tx, { ...place, ...sealFields(keys, id, fields) })
  insertTokens(tx, keys.tenantId, tokensOf(keys, id, fields))
  return id
}

/** Begins a transaction of the clinic with its current keys. The transaction stays open until `work` has ended. */
async function beginWith<T>(
  service: Service,
  { clinic }: PatientScene,
  work: (tx: TenantTx, keys: TenantKeys, begun: () => void) => Promise<T>,
): Promise<{ ended: Promise<T> }> {
  const ring: KeyRing = await openKeyRing(service.app.db, openSealer(ROOT_KEY), unheard)
  const { promise: hasBegun, resolve: begun } = Promise.withResolvers<void>()
  const ended = service.app.db.inTenant(clinic.id, async (tx) =>
    work(tx, await ring.forWriting(tx, clinic.id), begun),
  )
  ended.catch(() => undefined)
  await hasBegun
  return { ended }
}

const oldTokens = async ({ database }: Service) => {
  const [row] = await database.sql<{ count: number }>(
    `select count(*)::int as count from patient_tokens t join data_keys k on k.id = t.data_key_id
     where k.retired_at is not null`,
  )
  return row?.count
}

test('a rotation re-encrypts rows that an older transaction writes with the old keys afterwards', async () => {
  const service = await openService({ background: ['encryption', 'jobs'] })
  const scene = await openPatientScene(service)
  const other = await openPatientScene(service)
  const rotations = await openRotations(service)
  const known = await scene.patient({ full_name: 'Paula Known' })
  const open = gate()
  const slow = await beginWith(service, scene, async (tx, keys, begun) => {
    const id = await insert(tx, keys, fieldsOf('Paula Late', 'late'))
    await updatePatient(tx, known.id, sealFields(keys, known.id, { notes: 'written meanwhile' }))
    begun()
    await open.pass
    return id
  })

  expect((await rotations.begin()).status).toBe(200)
  // Checks that each request is answered while the slow transaction is still open.
  for (const { as, clinic } of [other, scene]) {
    const body = { full_name: 'Paula Beside', department_id: clinic.departmentId }
    const made = await as('doctor')('POST', '/api/patients', body)
    expect(made.status).toBe(201)
    const path = `/api/patients/${made.body.id}`
    expect((await as('nurse')('PUT', path, { notes: 'seen' })).status).toBe(200)
  }
  await rotations.lookedAgain()
  expect((await rotations.status()).status).toBe('running')

  open.open()
  const late = await slow.ended
  await rotations.until('completed')
  const { body } = await scene.as('doctor')('GET', `/api/patients/${known.id}`)
  expect(body).toMatchObject({ full_name: 'Paula Known', notes: 'written meanwhile' })
  const found = await scene.as('admin')('POST', '/api/patients/search', { search: 'ward|late' })
  expect(found.body.items).toMatchObject([{ id: late, full_name: 'Paula Late' }])
})

test('old search tokens are kept until the last transaction with old keys ends, so that duplicates are still found', async () => {
  const service = await openService({ background: ['encryption', 'jobs'] })
  const scene = await openPatientScene(service)
  const rotations = await openRotations(service)
  await scene.patient({ full_name: 'Paula First' })
  const open = gate()
  const slow = await beginWith(service, scene, async (tx, keys, begun) => {
    begun()
    await open.pass
    return insert(tx, keys, fieldsOf('Paula Double', 'A-1'))
  })
  await rotations.begin()
  await until('every node has heard of the keys', async () => {
    const [row] = await service.database.sql<{ has: boolean }>(
      "select now() > seen_at + interval '2 seconds' as has from encryption_rotations",
    )
    return row?.has || undefined
  })
  await rotations.lookedAgain()
  // The status names the transaction that the rotation waits for. The log names it once.
  const [oldest] = await service.database.sql<{ pid: number; application: string }>(
    `select pid, application_name as application from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend'
       and pid <> pg_backend_pid() and xact_start is not null order by xact_start limit 1`,
  )
  const waits_for = { ...oldest, since: expect.stringMatching(/Z$/) }
  expect(await rotations.status()).toMatchObject({ status: 'running', waits_for })
  await rotations.lookedAgain()
  const told = service.logged.filter(([, , message]) =>
    /is waiting for an older transaction/.test(`${message}`),
  )
  expect(told).toEqual([['info', waits_for, expect.anything()]])
  expect(await oldTokens(service)).toBeGreaterThan(0)

  await scene.patient({ identifiers: [{ system: 'ward', value: 'a1' }] })
  open.open()
  await expect(slow.ended).rejects.toMatchObject({ constraint: 'patient_tokens__identifier' })
  expect(await rotations.until('completed')).toMatchObject({ waits_for: null })
  expect(await oldTokens(service)).toBe(0)
})
