/** The idle limit of console sessions: the tenant setting `idle_minutes` (OWASP ASVS 5.0 §7.3.1). */

const DEFAULT_IDLE_MINUTES = 15

/** Returns the minutes after which an unused console session ends. */
export const idleMinutesOf = (setting: unknown): number =>
  typeof setting === 'number' ? setting : DEFAULT_IDLE_MINUTES
