/**
 * A rotation reads each finished row only once, even while dead rows accumulate and while it waits for a transaction.
 */
import pg from 'pg'
import { afterEach, expect, test, vi } from 'vitest'
import { insertPatients } from '../../src/features/patients/index.ts'
import { openKeyRing, openSealer } from '../../src/platform/crypto/index.ts'
import { openPatientScene } from '../patients/scene.ts'
import { gate, unheard } from '../sessions/scopes.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { until } from '../support/until.ts'
import { nobody, openRotations } from './scene.ts'

/** Each patient has a token. A batch deletes 300 tokens. */
const PATIENTS = 700

afterEach(() => vi.restoreAllMocks())

/** Records the statements that are sent from now on. */
function watchStatements(): string[] {
  const sent: string[] = []
  const { query } = pg.Client.prototype
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: [string | pg.QueryConfig]
  ) {
    const [asked] = args
    sent.push(typeof asked === 'string' ? asked : asked.text)
    return Reflect.apply(query, this, args)
  } as typeof query)
  return sent
}

test('a rotation reads no rows while it waits for other transactions, and reads old search tokens only once', async () => {
  const service = await openService({ background: ['encryption', 'jobs'] })
  const { clinic } = await openPatientScene(service)
  const rotations = await openRotations(service)
  const ring = await openKeyRing(service.app.db, openSealer(ROOT_KEY), unheard)
  const patients = Array.from({ length: PATIENTS }, (_, index) => nobody(`Paula P${index}`))
  await service.app.db.inTenant(clinic.id, (tx) => insertPatients(tx, ring, clinic.id, patients))
  const open = gate()
  const earlier = service.app.db.inTenant(clinic.id, async (tx) => {
    await tx.db.selectFrom('patients').select('id').limit(1).execute()
    await open.pass
  })

  await rotations.begin()
  await until('all is sealed anew, and every node knows of it', async () => {
    const [row] = await service.database.sql<{ are: boolean }>(
      `select records_done = records_total and now() > seen_at + interval '2 seconds' as are
       from encryption_rotations`,
    )
    return row?.are || undefined
  })
  await rotations.lookedAgain()
  const sent = watchStatements()
  await rotations.lookedAgain()
  expect(sent).toContainEqual(expect.stringContaining('transactions_before'))
  expect(sent.filter((text) => text.includes('data_key_id'))).toEqual([])

  open.open()
  await earlier
  expect(await rotations.until('completed')).toMatchObject({ records_failed: 0 })
  const batches = sent.filter((text) => /delete from "patient_tokens"/.test(text))
  expect(batches).toHaveLength(3)
  expect(batches.filter((text) => !text.includes('"patient_id" >='))).toHaveLength(1)
})
