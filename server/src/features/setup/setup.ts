/** The setup feature, which prepares the database at the first start. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Needs } from '../../core.ts'
import { StartupError } from '../../lib/startup-error.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import { announcement, superadminLines } from './announcement.ts'
import { bootstrap } from './bootstrap.service.ts'
import { makeDemo } from './demo.service.ts'
import { openDemoState } from './demo-state.ts'

const DEMO_IS_THERE =
  'NODE_ENV: the database contains the demo clinic, whose passwords are public. Start without `production`, delete or deactivate tenant "demo" as a superadmin, and start again with `production`.'

export interface Setup {
  /**
   * Creates the first superadmin and the demo if missing. Returns a function that renders the startup announcement.
   * @param tell receives the first superadmin's sign-in data immediately, because the password cannot be shown later
   * @throws StartupError in production if users could sign in to a demo clinic
   */
  setUp(print: (lines: string) => void): Promise<(address: string) => string>
}

type Core = Needs<
  'db' | 'passwords' | 'keyRing' | 'changes' | 'log',
  'DATA_DIR' | 'DEMO' | 'NODE_ENV' | 'BOOTSTRAP_ADMIN_EMAIL' | 'BOOTSTRAP_ADMIN_PASSWORD'
>

const PASSWORD_FILE = 'first-password'

export function openSetup(core: Core): Feature & Setup {
  const { db, passwords, keyRing, config } = core

  /**
   * Writes a generated password to a file, because logs of containers are stored. Returns the path. Returns undefined
   * for a terminal, or if writing fails. The caller must then print the password, because it cannot be shown later.
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
    return canFail(write(), 'writing of the first superadmin password', core.log)
  }

  const demo = openDemoState(core)
  return {
    name: 'setup',
    capabilities: { demo_mode: demo.isThere },
    close: demo.stop,
    async setUp(print) {
      await demo.refresh()
      if (config.NODE_ENV === 'production' && demo.isThere()) throw new StartupError(DEMO_IS_THERE)
      const made = await bootstrap(db, passwords, {
        email: config.BOOTSTRAP_ADMIN_EMAIL,
        password: config.BOOTSTRAP_ADMIN_PASSWORD,
      })
      // Prints the sign-in data now. If startup fails later, the next start cannot print the password.
      if (made) print(superadminLines(made, await keepPassword(made.password)))
      if (config.DEMO && (await makeDemo({ db, passwords, keyRing }))) await demo.refresh()
      return (address) => announcement({ address, hasDemo: demo.isThere() })
    },
  }
}
