import { api, take } from './client.ts'

const STORED = 'wardkeep.confirmed'
/** The time for which the service accepts a confirmation, in milliseconds. */
const CONFIRMED_MS = 5 * 60_000

/**
 * Confirms the session with the password, and with a code if the service has asked for one.
 * @throws ApiError with the code `totp_required` if a code is needed
 */
export async function confirmSession({ password, code }: { password: string; code: string }) {
  await take(
    api.POST('/api/console/session/confirm', { body: { password, totp_code: code || null } }),
  )
  sessionStorage.setItem(STORED, String(Date.now() + CONFIRMED_MS))
}

/** Returns true if this tab has confirmed the session within the last five minutes. The service decides. */
export const isSessionConfirmed = (): boolean => Number(sessionStorage.getItem(STORED)) > Date.now()
