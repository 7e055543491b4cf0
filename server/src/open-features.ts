/** The list of features: what each needs to open, and what they encrypt, restore and repair together. */
import { CORE_ROOT_SEALED, type Core } from './core.ts'
import {
  auditCommands,
  openAudit,
  SEALED_AUDIT_KEYS,
  verifyAuditLogs,
} from './features/audit/index.ts'
import {
  openAuth,
  requireSignedIn,
  SEALED_SIGNING_KEYS,
  SECOND_FACTORS,
} from './features/auth/index.ts'
import {
  BACKUP_TABLES,
  backupIdentity,
  openBackups,
  restoreFile as restoreFileOf,
  storeBy,
  verifyBackupFile,
} from './features/backups/index.ts'
import { openDepartments } from './features/departments/index.ts'
import { openEncryption, verifySealed } from './features/encryption/index.ts'
import { openHealth } from './features/health/index.ts'
import { openJobList } from './features/job-list/index.ts'
import {
  MESSENGER_LINKS,
  openMessenger,
  SEALED_CODES,
  SEALED_REPLIES,
} from './features/messenger/index.ts'
import { GRANTS, openPatients, PATIENTS, PURGED_PATIENTS } from './features/patients/index.ts'
import { openPayments, PAYMENT_NOTIFICATIONS, showAmount } from './features/payments/index.ts'
import { openPreferences } from './features/preferences/index.ts'
import { openSelfHealing, SELF_HEALING_TABLES } from './features/self-healing/index.ts'
import { DEMO, openSetup } from './features/setup/index.ts'
import { openSiem } from './features/siem/index.ts'
import { openStats } from './features/stats/index.ts'
import { eventTenantId, openTenants, purgeDeletedTenants } from './features/tenants/index.ts'
import {
  findUnfitHeads,
  isActiveDoctor,
  listSuperadmins,
  openUsers,
} from './features/users/index.ts'
import { openWebhooks, WEBHOOK_SECRETS } from './features/webhooks/index.ts'
import type { RootSealed, SealedTable } from './platform/crypto/index.ts'
import type { Conflicts } from './platform/db/index.ts'
import type { Feature } from './platform/feature/feature.ts'
import type { RestoreColumns } from './platform/feature/restore-columns.ts'
import type { RestoreRules } from './platform/feature/restore-rule.ts'
import type { OnClose } from './platform/lifecycle/undo.ts'

const NOT_BUILT: Feature = {
  name: 'not built',
  capabilities: {
    fhir_enabled: false,
  },
}

/** Opens the features. A feature is opened after all features that it calls, directly or through a passed function. */
export async function openFeatures(core: Core, onClose: OnClose) {
  const opened = <F extends Feature>(feature: F): F => {
    onClose(feature.name, () => feature.close?.())
    return feature
  }
  const messenger = opened(await openMessenger(core, { showAmount, requireSignedIn }))
  const demo = core.config.DEMO ? DEMO : null
  const auth = opened(await openAuth(core, { ...messenger, demo }))
  const features = {
    auth,
    tenants: opened(openTenants(core, { ...auth, requireSignedIn })),
    departments: opened(
      openDepartments(core, { mayHead: isActiveDoctor, requireSignedIn, findUnfitHeads }),
    ),
    users: opened(openUsers(core, { ...auth, leaves: messenger.userLeaves, requireSignedIn })),
    preferences: opened(openPreferences(core)),
    audit: opened(openAudit(core, listSuperadmins)),
    siem: opened(openSiem(core)),
    stats: opened(openStats(core)),
    patients: opened(openPatients(core)),
    webhooks: opened(openWebhooks(core)),
    payments: opened(openPayments(core)),
    messenger,
    setup: opened(openSetup(core)),
  }
  const list: readonly Feature[] = Object.values(features)
  const encryption = opened(openEncryption(core, SEALED))
  const tables: RestoreRules = Object.assign(
    {},
    core.tables,
    BACKUP_TABLES,
    SELF_HEALING_TABLES,
    encryption.tables,
    ...list.map((feature) => feature.tables ?? {}),
  )
  const columns: RestoreColumns = Object.assign(
    {},
    core.columns,
    ...list.map((feature) => feature.columns ?? {}),
  )
  const steps = list.flatMap(({ restoring }) => restoring ?? [])
  const backedUp = {
    tables,
    columns,
    steps,
    sealed: SEALED,
    rootSealed: ROOT_SEALED,
    purgedRecords: PURGED_RECORDS,
    conflicts: conflictsOf(list),
  }
  const backups = opened(await openBackups(core, backedUp, auth.sessions.identify))
  const mended: readonly Feature[] = [...list, encryption, backups]
  const fixes = [...core.fixes, ...mended.flatMap((feature) => feature.fixes ?? [])]
  const selfHealing = opened(await openSelfHealing(core, fixes))
  const health = opened(openHealth(core, [...mended, selfHealing, NOT_BUILT]))
  const jobs = opened(openJobList(core, [...mended, selfHealing]))
  const all = { ...features, encryption, backups, selfHealing, health, jobs }
  purgeDeletedTenants(core, Object.values(all))
  return { features: all, tables, columns, steps, fixes, outgoing: all.webhooks.outgoing }
}

/** Every table with columns that data keys encrypt, including rows of blocked users and deleted records. */
export const SEALED: readonly SealedTable[] = [
  SECOND_FACTORS,
  PATIENTS,
  GRANTS,
  WEBHOOK_SECRETS,
  PAYMENT_NOTIFICATIONS,
  MESSENGER_LINKS,
]

const PURGED_RECORDS = [PURGED_PATIENTS]

/** Every value that the root key encrypts. */
export const ROOT_SEALED: readonly RootSealed[] = [
  ...CORE_ROOT_SEALED,
  SEALED_AUDIT_KEYS,
  SEALED_SIGNING_KEYS,
  SEALED_CODES,
  SEALED_REPLIES,
]

export {
  auditCommands,
  backupIdentity,
  eventTenantId,
  storeBy,
  verifyAuditLogs,
  verifyBackupFile,
  verifySealed,
}

/** Restores a backup into an empty database, except for records that were purged after the backup. */
export const restoreBackupFile = (
  path: string,
  deps: Omit<Parameters<typeof restoreFileOf>[1], 'purgedRecords'>,
) => restoreFileOf(path, { ...deps, purgedRecords: PURGED_RECORDS })

/** Maps the constraints of these features to the problems that callers get when a constraint is violated. */
export const conflictsOf = (features: readonly Feature[]): Conflicts =>
  Object.assign({}, ...features.map(({ conflicts }) => conflicts))
