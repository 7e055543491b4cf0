/** The commands other than start. Each opens the parts it needs, does its work and stops. */
import { type App, openApp } from '../app.ts'
import { misspeltVariables, readConfig } from '../config/config.ts'
import { keySource } from '../config/key-source.ts'
import { asSentence, Problem } from '../lib/problems.ts'
import { StartupError } from '../lib/startup-error.ts'
import { SYSTEM } from '../platform/journal/index.ts'
import { openLog } from '../platform/observe/log.ts'
import { migrateOrExplain, openDatabase, openExistingDatabase } from './start.ts'

/** Opens the service without listening and runs the work. @param joins true to use a running service's database */
export async function withApp(work: (app: App) => Promise<string>, joins = false): Promise<void> {
  const config = readConfig()
  const log = openLog('warn', 2)
  for (const warning of misspeltVariables()) log.warn(warning)
  const { address, stop } = await openExistingDatabase(config, log, joins)
  try {
    await migrateOrExplain(address, config, log)
    const rootKeys = keySource(config, log)
    const publicUrl = config.PUBLIC_URL ?? 'http://localhost'
    // Logs only errors, because a command leaves the background work and recovery to the service.
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
    process.stdout.write(`The database schema is at version ${version}.\n`)
  } finally {
    await stop()
  }
}

export async function restoreTenant(id: number): Promise<void> {
  if (!Number.isSafeInteger(id))
    throw new StartupError('Invalid tenant id. Pass the id of the tenant as a number.')
  return withApp(async (app) => {
    const tenant = await app.features.tenants.service.restore(id).catch((error: unknown) => {
      throw error instanceof Problem ? new StartupError(asSentence(error)) : error
    })
    return `Tenant ${tenant.id} (${tenant.subdomain}) was restored.`
  })
}

/** Resets a superadmin, with or without a running service. @param removesFactor true to remove the second factor too */
export function resetOperator(email: string, removesFactor: boolean): Promise<void> {
  return withApp(async ({ features }) => {
    const { disown } = features.auth.secondFactor
    const password = await features.users.resetOperator(email, (tx, user) =>
      removesFactor ? disown(tx, SYSTEM, user) : Promise.resolve(),
    )
    return [
      `${email} can now sign in with the password ${password}`,
      'The password has to be changed at the next sign-in. All sessions of the account were ended.',
      ...(removesFactor ? ['The second factor of the account was removed.'] : []),
    ].join('\n')
  }, true)
}

export function releaseOutbound(): Promise<void> {
  return withApp(
    async (app) =>
      (await app.hold.release())
        ? 'Outgoing mails, webhooks and messages were released.'
        : 'No mails, webhooks or messages were held.',
    true,
  )
}

/** Rotates the signing key. @param revokes true to reject tokens of former keys now */
export function rotateSigningKey(revokes: boolean): Promise<void> {
  return withApp(async ({ features: { auth } }) => {
    await auth.keys.rotate(revokes)
    const signed = `Access tokens are now signed with key ${auth.keys.signer().kid}.`
    return revokes ? `${signed} Tokens signed with previous keys are rejected.` : signed
  }, true)
}
