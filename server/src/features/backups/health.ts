/** The health check that reports whether usable backups exist. */
import { stat } from 'node:fs/promises'
import { type Clock, SECOND } from '../../lib/clock.ts'
import type { Cron } from '../../lib/cron.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import type { ComponentHealth } from '../../platform/feature/feature.ts'
import type { Upkeep } from '../../platform/lifecycle/upkeep.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { beganAt } from './fixes/fixes.store.ts'
import { newestVerified, type VerifiedBackup } from './schedule/schedule.store.ts'
import type { OpenStore } from './stores/store.ts'

export interface BackupHealthDeps {
  db: Scopes
  clock: Clock
  log: Logger
  store: Pick<OpenStore, 'check'>
  /** The folder that contains the backups; undefined if they are stored elsewhere. */
  folder?: string | undefined
  config: {
    NODE_ENV: string
    DATABASE_URL: string | undefined
    DATA_DIR: string
    BACKUP_SCHEDULE: Cron | undefined
  }
}

/** The newest verified full backup, and whether the next one is late according to the schedule. */
export interface BackupFreshness extends VerifiedBackup {
  is_scheduled: boolean
  /** True if two intervals of the schedule have passed since the newest verified backup. */
  is_late: boolean
}

export interface BackupHealth {
  check(): ComponentHealth
  /** Returns the newest verified backup. Returns null until the database has been polled for the first time. */
  freshness(): BackupFreshness | null
  readonly upkeep: Upkeep
}

const NONE: VerifiedBackup = {
  created_at: null,
  verified_at: null,
  drill_seconds: null,
  tested_at: null,
}

const RUNBOOK = 'backups.md'

/** Creates the health check. It polls the database every 15 seconds, so that every node reports the same state. */
export function watchBackups({
  db,
  clock,
  log,
  store,
  folder,
  config,
}: BackupHealthDeps): BackupHealth {
  const { BACKUP_SCHEDULE: cron } = config
  const asked = () => store.check().then(() => true)
  let verified: VerifiedBackup | null = null
  /** When the installation was first used. Until a backup is verified, lateness is measured from this time. */
  let began: string | null = null
  let isPolled = false
  let isOnOneDisk = false
  /** True once the store has responded. If the store fails later, the health check reports late backups. */
  let canBeUsed = false
  const degraded = (reason: string, since?: string): ComponentHealth => ({
    state: 'degraded',
    reason,
    since,
    runbook: RUNBOOK,
  })
  return {
    check() {
      if (!canBeUsed) return degraded('The backup store is not usable. See the log for the cause.')
      // Without a schedule, no backup can be late. A schedule is required only in production.
      if (!cron)
        return config.NODE_ENV === 'production'
          ? degraded('No backups are scheduled. Set BACKUP_SCHEDULE.')
          : { state: 'ok', reason: 'No backups are scheduled.' }
      if (!verified?.created_at) return degraded('No backup has been verified yet.')
      if (isOnOneDisk)
        return degraded(
          'Backups are stored on the same disk as the database. Losing that disk loses both.',
        )
      const late = lapse(cron, Date.parse(verified.created_at))
      return clock.now() > late
        ? degraded(
            'The newest verified backup is older than two intervals of BACKUP_SCHEDULE.',
            new Date(late).toISOString(),
          )
        : { state: 'ok' }
    },
    freshness() {
      if (!isPolled) return null
      const from = verified?.created_at ?? began
      const is_late =
        cron !== undefined && from !== null && clock.now() > lapse(cron, Date.parse(from))
      return { ...(verified ?? NONE), is_scheduled: cron !== undefined, is_late }
    },
    upkeep: {
      what: 'backup health check',
      everyMs: 15 * SECOND,
      isNeededToServe: false,
      async run() {
        if (!canBeUsed) canBeUsed = (await canFail(asked(), 'backup store check', log)) ?? false
        const findState = async (tx: TenantTx) => ({
          verified: await newestVerified(tx),
          began: await beganAt(tx),
        })
        const state = await db.acrossTenants(findState, 'read')
        verified = state.verified
        began = state.began
        isPolled = true
        // An external database is assumed to run on another machine.
        isOnOneDisk =
          config.DATABASE_URL === undefined &&
          folder !== undefined &&
          (await areOnOneDisk(config.DATA_DIR, folder))
      },
    },
  }
}

/** Returns when a backup is two intervals old, from the schedule, because its intervals may differ in length. */
export function lapse(cron: Cron, takenAt: number): number {
  const late = takenAt - cron.before(takenAt + 1)
  return cron.after(cron.after(takenAt)) + late
}

async function areOnOneDisk(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([deviceOf(one), deviceOf(other)])
  return first !== undefined && first === second
}

/** Returns the device that contains the folder. Returns undefined if the folder does not exist. */
async function deviceOf(folder: string): Promise<number | undefined> {
  try {
    return (await stat(folder)).dev
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
