/**
 * Plans the search of re-encryption for rows with an old key. The former versions of all rows are still in the table as
 * dead rows.
 */
import { beforeAll, expect, test } from 'vitest'
import * as store from '../../src/features/encryption/re-encryption.store.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { explained, type Plan, type PlanDatabase, pagesRead } from './explain.ts'
import { LARGE_TENANT, NEW_KEY, OLD_KEY, PATIENTS, sealedWith } from './furnish.ts'

const TOKENS = { table: 'patient_tokens', of: 'patient_id' }

const sealAll = (key: number) => `update patients set
  (sealed_full_name, sealed_identifiers, sealed_allergies) = (select s, s, s from (select ${sealedWith(key)}) k (s))`

/** Returns each table of a plan with the index that reads it, if any. */
function accessPaths(plan: Plan): string[] {
  const { 'Relation Name': table, 'Index Name': index = plan['Node Type'] } = plan
  return [...(table ? [`${table}: ${index}`] : []), ...(plan.Plans ?? []).flatMap(accessPaths)]
}

/** Declares the tests of the re-encryption of patients. They change the patients, so they must run last. */
export function reEncryptionPlans(at: () => PlanDatabase): void {
  // Creates the state that re-encryption leaves, with statistics from before it.
  beforeAll(() => at().database.sql(sealAll(NEW_KEY)))

  const inPlatform = <T>(work: (tx: TenantTx) => Promise<T>, furnishing = '') =>
    explained(at(), null, work, { furnishing })

  test.each<[string, (tx: TenantTx) => Promise<unknown>]>([
    ['which keys are left', (tx) => store.keysLeft(tx, 'patients')],
    ['whether rows are left', (tx) => store.areLeft(tx, ['patients'])],
    ['how many rows are left', (tx) => store.countLeft(tx, 'patients')],
  ])('reads %s from the index of keys, not from the table', async (_, look) => {
    const { plans } = await inPlatform(look)
    const paths = plans.flatMap(accessPaths)
    expect(paths.filter((path) => path.startsWith('patients'))).toEqual([
      'patients: patients__by_data_key',
    ])
  })

  test('finds and counts the remaining rows', async () => {
    const someLeft = `${sealAll(OLD_KEY)} where id in (7, ${PATIENTS})`
    const { value } = await inPlatform(
      async (tx) => [
        await store.keysLeft(tx, 'patients'),
        await store.areLeft(tx, ['patient_grants', 'patients']),
        await store.countLeft(tx, 'patients'),
      ],
      someLeft,
    )
    expect(value).toEqual([[{ id: OLD_KEY, tenant_id: LARGE_TENANT }], true, 2])
  })

  test('reads as few pages for the last batch of old search tokens as for the first', async () => {
    const batch = async (from: store.Position, limit: number) => {
      const { plans, value } = await inPlatform((tx) =>
        store.deleteOldTokens(tx, TOKENS, OLD_KEY, from, limit),
      )
      return { pages: pagesRead(plans), value }
    }
    const first = await batch(null, 20)
    expect(first.value).toEqual({ count: 20, last: 10 })
    // Leaves one token of the last patient for the next batch.
    const most = await batch(first.value.last, 2 * PATIENTS - 61)
    expect(most.value).toEqual({ count: 2 * PATIENTS - 61, last: PATIENTS - 20 })
    const last = await batch(most.value.last, 20)
    expect(last.value).toEqual({ count: 20, last: PATIENTS - 10 })
    expect(last.pages).toBeLessThan(1.5 * first.pages)
    expect((await batch(last.value.last, 100)).value).toEqual({ count: 21, last: null })
    expect((await batch(null, 100)).value).toEqual({ count: 0, last: null })
  })
}
