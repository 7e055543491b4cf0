/** The idle limit of console sessions: the tenant setting `idle_minutes` (OWASP ASVS 5.0 §7.3.1). */

const MIN_IDLE_MINUTES = 2
const MAX_IDLE_MINUTES = 60
const DEFAULT_IDLE_MINUTES = 15

/** Returns the idle limit in minutes; the default for invalid settings, which earlier releases accepted. */
export function idleMinutesOf(setting: unknown): number {
  const isValid =
    Number.isInteger(setting) &&
    Number(setting) >= MIN_IDLE_MINUTES &&
    Number(setting) <= MAX_IDLE_MINUTES
  return isValid ? Number(setting) : DEFAULT_IDLE_MINUTES
}
