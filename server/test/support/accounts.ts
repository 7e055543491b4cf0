/** What an account takes beside the service: a mailbox, an authenticator app, a clean slate. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import PostalMime, { type Email } from 'postal-mime'
import type { Service } from './service.ts'
import { until } from './until.ts'

/** The mails to an address that lie in the outbox, oldest first. */
export async function mailsTo(service: Service, address: string): Promise<Email[]> {
  const folder = join(service.dataDir, 'outbox')
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => name.endsWith('.eml')).sort()
  const mails = await Promise.all(
    files.map(async (name) => PostalMime.parse(await readFile(join(folder, name)))),
  )
  return mails.filter((mail) => mail.to?.some((to) => to.address === address))
}

/** The token of a link to `page` that was mailed to the address after `seen` others; waits for it. */
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

/** The code that an authenticator app shows now, or some steps of 30 s from now. */
export function codeOf(service: Service, secret: string, steps = 0): string {
  const timestamp = service.clock.now() + steps * 30_000
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
}

/** As if nobody had ever failed, for tests of something else than how guesses are slowed. */
export async function forgive(service: Service): Promise<void> {
  await service.database.sql('delete from throttles')
}
