/** Whether backups would be there on the day of need, for the health report. */
import { stat } from 'node:fs/promises'
import { type Clock, MINUTE } from '../../../lib/clock.ts'
import type { Cron } from '../../../lib/cron.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { State } from '../../../platform/feature.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Upkeep } from '../../../platform/upkeep.ts'
import type { OpenStore } from '../stores/store.ts'
import { newestProven } from './schedule.store.ts'

export interface WatchDeps {
  db: Scopes
  clock: Clock
  log: Logger
  store: Pick<OpenStore, 'check'>
  /** Where the backups lie; none where that is no folder. */
  folder?: string | undefined
  config: {
    NODE_ENV: string
    DATABASE_URL: string | undefined
    DATA_DIR: string
    BACKUP_SCHEDULE: Cron | undefined
  }
}

export interface Watch {
  check(): State
  readonly upkeep: Upkeep
}

/** What it says is the database's word, a minute old at the most: the same on every node. */
export function watchBackups({ db, clock, log, store, folder, config }: WatchDeps): Watch {
  const { BACKUP_SCHEDULE: cron } = config
  const asked = () => store.check().then(() => true)
  let proven: string | null = null
  let isOnOneDisk = false
  /** Once: that it fails later is told by the backups that are missing. */
  let canBeUsed = false
  return {
    check() {
      if (!canBeUsed) return 'degraded'
      // Where nothing is planned and nothing has to be, there is nothing to miss.
      if (!cron) return config.NODE_ENV === 'production' ? 'degraded' : 'ok'
      if (proven === null || isOnOneDisk) return 'degraded'
      return clock.now() > lapse(cron, Date.parse(proven)) ? 'degraded' : 'ok'
    },
    upkeep: {
      what: 'looking at the backups',
      everyMs: MINUTE,
      isNeededToServe: false,
      async run() {
        if (!canBeUsed)
          canBeUsed = (await canFail(asked(), 'asking the store of the backups', log)) ?? false
        proven = await db.acrossTenants(newestProven, 'read')
        // A database elsewhere is on another machine, as far as can be told from here.
        isOnOneDisk =
          config.DATABASE_URL === undefined &&
          folder !== undefined &&
          (await areOnOneDisk(config.DATA_DIR, folder))
      },
    },
  }
}

/** When a backup of this time is older than two intervals, which need not be equally long. */
export function lapse(cron: Cron, takenAt: number): number {
  const late = takenAt - cron.before(takenAt + 1)
  return cron.after(cron.after(takenAt)) + late
}

async function areOnOneDisk(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([deviceOf(one), deviceOf(other)])
  return first !== undefined && first === second
}

/** Undefined for a folder that is not there: nothing lies in it. */
async function deviceOf(folder: string): Promise<number | undefined> {
  try {
    return (await stat(folder)).dev
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
