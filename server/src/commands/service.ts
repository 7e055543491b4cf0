/** The commands beside start: each opens what it needs, does its work and stops. */
import { type App, openApp } from '../app.ts'
import { misspeltVariables, readConfig } from '../config/config.ts'
import { keySource } from '../config/key-source.ts'
import { Problem } from '../lib/problems.ts'
import { StartupError } from '../lib/startup-error.ts'
import { SYSTEM } from '../platform/journal/index.ts'
import { openLog } from '../platform/observe/log.ts'
import { migrateOrExplain, openDatabase, openExistingDatabase } from './start.ts'

/**
 * Opens the service without listening, for one piece of work whose outcome is printed.
 * @param joins whether the embedded database of a running service will do
 */
export async function withApp(work: (app: App) => Promise<string>, joins = false): Promise<void> {
  const config = readConfig()
  const log = openLog('warn', 2)
  for (const warning of misspeltVariables()) log.warn(warning)
  const { address, stop } = await openExistingDatabase(config, log, joins)
  try {
    await migrateOrExplain(address, config, log)
    const rootKeys = keySource(config, log)
    const publicUrl = config.PUBLIC_URL ?? 'http://localhost'
    // A command does its one piece of work; what waits in the background is the service's, and so is what
    // comes right again by itself.
    const quiet = openLog('error', 2)
    const app = await openApp({ config, address, publicUrl, rootKeys, log: quiet, role: 'api' })
    try {
      process.stdout.write(`${await work(app)}\n`)
    } finally {
      await app.close()
    }
  } finally {
    await stop()
  }
}

export async function migrateOnly(): Promise<void> {
  const config = readConfig()
  const log = openLog('info')
  const { address, stop } = await openDatabase(config, log)
  try {
    const version = await migrateOrExplain(address, config, log)
    process.stdout.write(`The database has schema ${version}.\n`)
  } finally {
    await stop()
  }
}

export async function restoreTenant(id: number): Promise<void> {
  if (!Number.isSafeInteger(id)) throw new StartupError('Give the id of the tenant, a number.')
  return withApp(async (app) => {
    const tenant = await app.features.tenants.service.restore(id).catch((error: unknown) => {
      throw error instanceof Problem ? new StartupError(`${error.message}.`) : error
    })
    return `Tenant ${tenant.id} (${tenant.subdomain}) is back.`
  })
}

/** Beside a running service, or without one. @param removesFactor whether the second factor goes too */
export function resetOperator(email: string, removesFactor: boolean): Promise<void> {
  return withApp(async ({ features }) => {
    const { disown } = features.auth.secondFactor
    const password = await features.users.resetOperator(email, (tx, user) =>
      removesFactor ? disown(tx, SYSTEM, user) : Promise.resolve(),
    )
    return [
      `${email} can sign in with the password ${password}`,
      'It has to be changed at the first sign-in. All sessions of the account have ended.',
      ...(removesFactor ? ['Its second factor is gone.'] : []),
    ].join('\n')
  }, true)
}

/** Beside a running service, or without one. */
export function releaseOutbound(): Promise<void> {
  return withApp(
    async (app) =>
      (await app.hold.release())
        ? 'Mails, webhooks and messages go out again.'
        : 'Nothing was held.',
    true,
  )
}

/** Beside a running service, or without one. @param revokes whether former keys stop verifying immediately */
export function rotateSigningKey(revokes: boolean): Promise<void> {
  return withApp(async ({ features: { auth } }) => {
    await auth.keys.rotate(revokes)
    const signed = `The access tokens are now signed by key ${auth.keys.signer().kid}.`
    return revokes ? `${signed} Tokens of former keys are refused.` : signed
  }, true)
}
