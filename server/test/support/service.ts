/** Opens the real application for a test, on its own database. */
import { atTheEnd } from './cleanup.ts'
import { goldenDatabase, type TestDatabase } from './database.ts'
import { type OpenedService, type OpenOptions, openTestService } from './open-service.ts'
import { countService } from './service-count.ts'

export {
  type Answer,
  type CallOptions,
  ROOT_KEY,
  rootKeys,
  SUPERADMIN,
} from './open-service.ts'
export { type MovableClock, movableClock } from './time.ts'

export interface Service extends OpenedService {
  database: TestDatabase
}

/**
 * Opens the service, on a copy of the golden template by default. Several can share a database, like nodes. Only the
 * named background work runs. Closed with the test or its file.
 */
export async function openService(
  options: OpenOptions & { database?: TestDatabase } = {},
): Promise<Service> {
  countService()
  const database = options.database ?? (await goldenDatabase())
  const opened = await openTestService({ ...options, address: database.address })
  atTheEnd(opened.close)
  await opened.app.setUp(() => undefined)
  return { ...opened, database }
}
