/** The first start, put together. */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature.ts'
import { announcement, superadminLines } from './announcement.ts'
import { bootstrap } from './bootstrap.service.ts'
import { makeDemo } from './demo.service.ts'
import { hasDemo } from './demo.store.ts'

export interface Setup {
  /**
   * Makes what an empty database lacks. Returns how to announce the service at its address.
   * @param tell told of the first superadmin once there is one: nobody else will ever know the password
   */
  setUp(tell: (lines: string) => void): Promise<(address: string) => string>
}

type Core = Needs<
  'db' | 'passwords' | 'keyRing',
  'DEMO' | 'BOOTSTRAP_ADMIN_EMAIL' | 'BOOTSTRAP_ADMIN_PASSWORD'
>

export function openSetup({ db, passwords, keyRing, config }: Core): Feature & Setup {
  return {
    name: 'setup',
    capabilities: { demo_mode: config.DEMO },
    async setUp(tell) {
      const made = await bootstrap(db, passwords, {
        email: config.BOOTSTRAP_ADMIN_EMAIL,
        password: config.BOOTSTRAP_ADMIN_PASSWORD,
      })
      // At once: where the start fails behind this, the next one finds the superadmin there already.
      if (made) tell(superadminLines(made))
      if (config.DEMO) await makeDemo({ db, passwords, keyRing })
      const isThere = config.DEMO && (await db.acrossTenants(hasDemo, 'read'))
      return (address) => announcement({ address, hasDemo: isThere })
    },
  }
}
