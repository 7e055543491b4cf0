/** The headers that every answer carries (OWASP Secure Headers, for an API that answers JSON). */

/**
 * Constant, and set in one go: building them anew for each answer costs more than the routing.
 * `/docs` and `/console` have their own content policies.
 */
export const SECURITY_HEADERS = {
  // Answers hold personal data or tokens; nobody on the way may keep them.
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-site',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const
