/** The security headers of every response (OWASP Secure Headers, for an API that returns JSON). */

/** The constant headers are set together, because building them for each response would cost more than routing. */
export const SECURITY_HEADERS = {
  // Responses contain personal data or tokens, so intermediaries must not store them.
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-site',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const
