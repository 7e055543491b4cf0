/** Redirects for links in mails of earlier releases to pages that are now in the console. */
import type { Redirects } from '../../platform/http/index.ts'

export const REDIRECTS: Redirects = {
  '/verify-email': 'console/verify-email',
  '/reset-password': 'console/reset-password',
  '/invitation': 'console/invitation',
}
