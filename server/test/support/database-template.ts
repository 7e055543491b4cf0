/**
 * The golden template of a test run: a database on which the service has started once. It contains queues, keys, a
 * superadmin, and two clinics with users of every role.
 */
import type { DatabaseAddress } from '../../src/platform/db/index.ts'
import { createClinic } from './clinics.ts'
import { openTestService } from './open-service.ts'
import { type GoldenPeople, superadminOf } from './people.ts'

/** Creates the template from an empty, migrated database. */
export async function furnishGolden(address: DatabaseAddress): Promise<GoldenPeople> {
  const service = await openTestService({
    address,
    background: ['audit', 'webhooks', 'stats', 'jobs'],
  })
  try {
    await service.app.setUp(() => undefined)
    const root = await superadminOf(service)
    const [north, south] = [
      await createClinic(service, root, 'north'),
      await createClinic(service, root, 'south'),
    ]
    // Empties the queues first, so that a copy does not process these entries or send these mails.
    await service.idle('audit', 'webhooks', 'stats', 'jobs')
    // Deletes the links and counts of those mails, which would expire earlier than those that a test creates.
    await service.app.db.acrossTenants(async (tx) => {
      await tx.db.deleteFrom('account_tokens').execute()
      await tx.db.deleteFrom('throttles').execute()
    })
    return { root, clinics: { north, south } }
  } finally {
    await service.close()
  }
}
