/**
 * Tests query plans on one database. It is filled, vacuumed and analyzed once, with autovacuum off. The cases are in
 * the other modules of this folder.
 */
import { beforeAll, describe } from 'vitest'
import { migratedDatabase } from '../support/database.ts'
import { leftoverPlans, pagesOfSearch } from './deleted-tenant-deliveries.ts'
import { deliveryPlans } from './deliveries.ts'
import { connectionTo, type PlanDatabase } from './explain.ts'
import { furnish, vacuumAll } from './furnish.ts'
import { journalPlans } from './journal.ts'
import { listPlans, planOfSearch } from './lists.ts'
import { notificationPlans } from './notifications.ts'
import { overviewPlans } from './overview.ts'
import { reEncryptionPlans } from './re-encryption.ts'
import { statsPlans } from './stats.ts'

let scene: PlanDatabase
/** Measured before the planner had statistics. */
let searchBefore: string
let pagesBefore: number

beforeAll(async () => {
  const database = await migratedDatabase()
  scene = { database, client: await connectionTo(database) }
  searchBefore = await planOfSearch(scene)
  await furnish(database)
  pagesBefore = await pagesOfSearch(scene)
  await vacuumAll(database)
})

const at = () => scene

listPlans(at, () => searchBefore)
journalPlans(at)
notificationPlans(at)
overviewPlans(at)
statsPlans(at)
deliveryPlans(at)
leftoverPlans(at, () => pagesBefore)
// Runs last, because it changes the patients and their tokens.
describe('re-encryption', () => reEncryptionPlans(at))
