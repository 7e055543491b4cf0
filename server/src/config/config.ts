/** Reads the configuration. The tables of `docs/reference/configuration.md` are generated from the variables. */
import { misspelt } from '../lib/spelling.ts'
import { StartupError } from '../lib/startup-error.ts'
import { AUDIT_VARIABLES } from './audit-variables.ts'
import { BACKUP_VARIABLES } from './backup-variables.ts'
import { DATABASE_VARIABLES } from './database-variables.ts'
import { KEY_VARIABLES } from './key-variables.ts'
import { MAIL_VARIABLES } from './mail-variables.ts'
import { MESSENGER_VARIABLES } from './messenger-variables.ts'
import { MONITORING_VARIABLES } from './monitoring-variables.ts'
import { NETWORK_VARIABLES } from './network-variables.ts'
import { PATIENT_VARIABLES } from './patient-variables.ts'
import { PAYMENT_VARIABLES } from './payment-variables.ts'
import { SELF_HEALING_VARIABLES } from './self-healing-variables.ts'
import { SERVICE_VARIABLES } from './service-variables.ts'
import { SIEM_VARIABLES } from './siem-variables.ts'
import { SIGN_IN_VARIABLES } from './sign-in-variables.ts'
import { WEBHOOK_VARIABLES } from './webhook-variables.ts'

/** The variables by subject, in the order of the documentation. */
export const VARIABLE_GROUPS = {
  Service: SERVICE_VARIABLES,
  Database: DATABASE_VARIABLES,
  'Encryption keys': KEY_VARIABLES,
  'Network and rate limits': NETWORK_VARIABLES,
  'Sign-in': SIGN_IN_VARIABLES,
  Mail: MAIL_VARIABLES,
  Patients: PATIENT_VARIABLES,
  Webhooks: WEBHOOK_VARIABLES,
  Payments: PAYMENT_VARIABLES,
  Messenger: MESSENGER_VARIABLES,
  Backups: BACKUP_VARIABLES,
  'Self-healing': SELF_HEALING_VARIABLES,
  'SIEM export': SIEM_VARIABLES,
  'Audit log': AUDIT_VARIABLES,
  Monitoring: MONITORING_VARIABLES,
} as const

export const VARIABLES = {
  ...SERVICE_VARIABLES,
  ...DATABASE_VARIABLES,
  ...KEY_VARIABLES,
  ...NETWORK_VARIABLES,
  ...SIGN_IN_VARIABLES,
  ...MAIL_VARIABLES,
  ...PATIENT_VARIABLES,
  ...WEBHOOK_VARIABLES,
  ...PAYMENT_VARIABLES,
  ...MESSENGER_VARIABLES,
  ...BACKUP_VARIABLES,
  ...SELF_HEALING_VARIABLES,
  ...SIEM_VARIABLES,
  ...AUDIT_VARIABLES,
  ...MONITORING_VARIABLES,
}

type Variables = typeof VARIABLES

export type Config = { readonly [K in keyof Variables]: ReturnType<Variables[K]['read']> }

/** Reads and validates the whole configuration. @throws StartupError with one line for each fault */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const values: Record<string, unknown> = {}
  const faults: string[] = []
  for (const [name, { read }] of Object.entries(VARIABLES)) {
    try {
      // Treats an empty variable as not set. Compose files and shells have no other way to express this.
      values[name] = read(env[name] === '' ? undefined : env[name], env)
    } catch (error) {
      for (const line of (error as Error).message.split('\n')) faults.push(`${name}: ${line}.`)
    }
  }
  if (faults.length > 0) throw new StartupError(...faults)
  return values as Config
}

/** The length of long names, which may differ in more letters: `TRUSTED_PROXY` needs three edits. */
const LONG_NAME = 12
const EDITS_OF_LONG_NAMES = 3

/** Warns about each unknown variable with a name similar to a known one, because it is ignored (decisions §12). */
export function misspeltVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = Object.keys(VARIABLES)
  return Object.keys(env).flatMap((name) => {
    if (known.includes(name)) return []
    const upper = name.toUpperCase()
    const edits = name.length > LONG_NAME ? EDITS_OF_LONG_NAMES : undefined
    const meant = known.includes(upper) ? upper : misspelt(upper, known, edits)
    return meant
      ? [`${name} is not a variable of Wardkeep and is ignored. Did you mean ${meant}?`]
      : []
  })
}
