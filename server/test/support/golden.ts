/**
 * The golden template of a run: a database on which the service was opened once, with its queues,
 * keys and superadmin, and with two clinics that have users of every role.
 */
import type { DatabaseAddress } from '../../src/platform/db/index.ts'
import { createClinic } from './clinics.ts'
import { openTestService } from './open-service.ts'
import { type Clinic, type Person, superadminOf } from './people.ts'

/** Who there is in a copy; access tokens are signed anew for each test. */
export interface GoldenPeople {
  /** Absent once a test has taken the superadmin. */
  root?: Person
  /** By subdomain; without those that a test has taken. */
  clinics: Record<string, Clinic>
}

/** Makes the template of an empty, migrated database. */
export async function furnishGolden(address: DatabaseAddress): Promise<GoldenPeople> {
  const service = await openTestService({ address })
  try {
    await service.app.setUp(() => undefined)
    const root = await superadminOf(service)
    const [north, south] = [
      await createClinic(service, root, 'north'),
      await createClinic(service, root, 'south'),
    ]
    return { root, clinics: { north, south } }
  } finally {
    await service.close()
  }
}
