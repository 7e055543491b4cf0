/** Links in mails of earlier releases open these paths. The console has the pages now. */
import type { Redirects } from '../../platform/http/index.ts'

export const REDIRECTS: Redirects = {
  '/verify-email': 'console/verify-email',
  '/reset-password': 'console/reset-password',
  '/invitation': 'console/invitation',
}
