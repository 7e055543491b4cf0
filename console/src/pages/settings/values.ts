/** The clinic settings that the service reads. A clinic may have other settings, which the form preserves. */
import { ROLES, type Role } from '../../words/roles.ts'

/** The ways to admit new accounts. */
export const REGISTRATIONS = ['approval', 'open', 'closed'] as const

/** A way to admit new accounts. */
export type Registration = (typeof REGISTRATIONS)[number]

/** The settings that the service reads, under their names in the API. */
export interface KnownSettings {
  readonly registration: Registration
  readonly require_totp: readonly Role[]
  readonly idle_minutes: number
  readonly listed: boolean
  /** The days for which entries of the audit log are kept. Null keeps all entries. */
  readonly audit_retention_days: number | null
}

/** The fields of the form. */
export interface ClinicValues extends KnownSettings {
  readonly name: string
}

type Settings = Readonly<Record<string, unknown>>

export const MIN_IDLE_MINUTES = 2
export const MAX_IDLE_MINUTES = 60
export const MIN_RETENTION_DAYS = 90
export const MAX_RETENTION_DAYS = 36_500

const DEFAULTS: KnownSettings = {
  registration: 'approval',
  require_totp: [],
  idle_minutes: 15,
  listed: true,
  audit_retention_days: null,
}

const NAMES = Object.keys(DEFAULTS) as readonly (keyof KnownSettings)[]

/** Reads the known settings. An absent or invalid setting is replaced by its default, as in the service. */
export function readSettings(settings: Settings): KnownSettings {
  const { registration, require_totp: demanded, idle_minutes: minutes, listed } = settings
  const { audit_retention_days: days } = settings
  return {
    registration: REGISTRATIONS.find((one) => one === registration) ?? DEFAULTS.registration,
    require_totp: Array.isArray(demanded) ? ROLES.filter((role) => demanded.includes(role)) : [],
    idle_minutes: isWithin(minutes, MIN_IDLE_MINUTES, MAX_IDLE_MINUTES)
      ? minutes
      : DEFAULTS.idle_minutes,
    listed: listed !== false,
    audit_retention_days: isWithin(days, MIN_RETENTION_DAYS, MAX_RETENTION_DAYS) ? days : null,
  }
}

/** Returns the names of the settings that the service does not read. */
export const otherSettings = (settings: Settings): readonly string[] =>
  Object.keys(settings).filter((name) => !NAMES.some((known) => known === name))

/** True when two values are equal. */
const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** True when the form differs from what is saved. */
export const isChanged = (saved: ClinicValues, values: ClinicValues): boolean =>
  saved.name !== values.name || NAMES.some((name) => !isSame(saved[name], values[name]))

/**
 * Returns the settings to save: the latest settings with the changes of the form. The API replaces all settings and
 * rejects invalid ones. Therefore the other settings are sent again, and an invalid known setting is replaced by its
 * default.
 */
export function mergeSettings(
  latest: Settings,
  saved: KnownSettings,
  values: KnownSettings,
): Record<string, unknown> {
  const read = readSettings(latest)
  const known = NAMES.flatMap((name) => {
    if (!isSame(saved[name], values[name])) return [[name, values[name]] as const]
    return name in latest ? [[name, read[name]] as const] : []
  })
  return { ...latest, ...Object.fromEntries(known) }
}

/** Returns the roles that the changes newly require to have a second factor. */
export const newlyRequired = (saved: KnownSettings, values: KnownSettings): readonly Role[] =>
  values.require_totp.filter((role) => !saved.require_totp.includes(role))

/** True when the changes remove entries of the audit log earlier than before. */
export const shortensRetention = (saved: KnownSettings, values: KnownSettings): boolean =>
  values.audit_retention_days !== null &&
  values.audit_retention_days < (saved.audit_retention_days ?? Number.POSITIVE_INFINITY)

const isWithin = (value: unknown, min: number, max: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
