import { api, take } from './client.ts'
import { rememberConfirmation } from './confirmation.ts'

/**
 * Confirms the session with the password, and with a code if the service has asked for one.
 * @throws ApiError with the code `totp_required` if a code is needed
 */
export async function confirmSession({ password, code }: { password: string; code: string }) {
  await take(
    api.POST('/api/console/session/confirm', { body: { password, totp_code: code || null } }),
  )
  rememberConfirmation()
}
