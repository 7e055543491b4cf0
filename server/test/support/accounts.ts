/** Helpers for accounts: a mailbox, an authenticator app, and a reset of the throttles. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import PostalMime, { type Email } from 'postal-mime'
import type { Service } from './service.ts'
import { until } from './until.ts'

/** Returns the mails to an address from the outbox, oldest first. */
export async function mailsTo(service: Service, address: string): Promise<Email[]> {
  const folder = join(service.dataDir, 'outbox')
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => name.endsWith('.eml')).sort()
  const mails = await Promise.all(
    files.map(async (name) => PostalMime.parse(await readFile(join(folder, name)))),
  )
  return mails.filter((mail) => mail.to?.some((to) => to.address === address))
}

/** Waits for the next mail to the address after `seen` earlier ones. Returns the token of its link to `page`. */
export async function mailedToken(
  service: Service,
  address: string,
  page: 'verify-email' | 'reset-password' | 'invitation',
  seen = 0,
): Promise<string> {
  const link = new RegExp(`/${page}#token=(\\S+)`)
  return until(`a link to ${page} is mailed to ${address}`, async () => {
    const mails = await mailsTo(service, address)
    const tokens = mails.flatMap(({ text = '' }) => link.exec(text)?.[1] ?? [])
    return tokens.length > seen ? decodeURIComponent(tokens.at(-1) ?? '') : undefined
  })
}

/** Returns the code that an authenticator app shows now, or `steps` periods of 30 s later. */
export function codeOf(service: Service, secret: string, steps = 0): string {
  const timestamp = service.clock.now() + steps * 30_000
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
}

/** Deletes all counts of failed attempts, so that throttling does not affect the test. */
export async function forgive(service: Service): Promise<void> {
  await service.database.sql('delete from throttles')
}
