import { api, take } from './client.ts'

/**
 * Confirms the session with the password, and with a code if the service has asked for one.
 * @throws ApiError with the code `totp_required` if a code is needed
 */
export const confirmSession = ({ password, code }: { password: string; code: string }) =>
  take(api.POST('/api/console/session/confirm', { body: { password, totp_code: code || null } }))
