/** The first start, put together. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Needs } from '../../core.ts'
import { StartupError } from '../../lib/startup-error.ts'
import type { Feature } from '../../platform/feature.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import { announcement, superadminLines } from './announcement.ts'
import { bootstrap } from './bootstrap.service.ts'
import { makeDemo } from './demo.service.ts'
import { openDemoStanding } from './demo-standing.ts'

const DEMO_IS_THERE =
  'NODE_ENV: the database has the demo clinic, whose password everyone knows: start without `production`, delete or deactivate tenant "demo" as a superadmin, and start again.'

export interface Setup {
  /**
   * Makes what an empty database lacks. Returns how to announce the service at its address.
   * @param tell told of the first superadmin once there is one: nobody else will ever know the password
   * @throws StartupError in production where people could sign in to a demo clinic
   */
  setUp(tell: (lines: string) => void): Promise<(address: string) => string>
}

type Core = Needs<
  'db' | 'passwords' | 'keyRing' | 'changes' | 'log',
  'DATA_DIR' | 'DEMO' | 'NODE_ENV' | 'BOOTSTRAP_ADMIN_EMAIL' | 'BOOTSTRAP_ADMIN_PASSWORD'
>

/** In the data folder. */
const PASSWORD_FILE = 'first-password'

export function openSetup(core: Core): Feature & Setup {
  const { db, passwords, keyRing, config } = core

  /**
   * Writes a generated password to a file unless the output is a terminal, because logs of containers are kept. Returns
   * the file. Without one the password is shown: nobody could learn it later.
   */
  async function keepPassword(password: string | null): Promise<string | undefined> {
    if (password === null || process.stdout.isTTY) return undefined
    const file = resolve(config.DATA_DIR, PASSWORD_FILE)
    const write = async () => {
      await mkdir(dirname(file), { recursive: true })
      await rm(file, { force: true })
      await writeFile(file, `${password}\n`, { mode: 0o600, flag: 'wx' })
      return file
    }
    return canFail(write(), 'writing the password of the first superadmin', core.log)
  }

  const demo = openDemoStanding(core)
  return {
    name: 'setup',
    capabilities: { demo_mode: demo.isThere },
    close: demo.stop,
    async setUp(tell) {
      await demo.look()
      if (config.NODE_ENV === 'production' && demo.isThere()) throw new StartupError(DEMO_IS_THERE)
      const made = await bootstrap(db, passwords, {
        email: config.BOOTSTRAP_ADMIN_EMAIL,
        password: config.BOOTSTRAP_ADMIN_PASSWORD,
      })
      // At once: where the start fails behind this, the next one finds the superadmin there already.
      if (made) tell(superadminLines(made, await keepPassword(made.password)))
      if (config.DEMO && (await makeDemo({ db, passwords, keyRing }))) await demo.look()
      return (address) => announcement({ address, hasDemo: demo.isThere() })
    },
  }
}
