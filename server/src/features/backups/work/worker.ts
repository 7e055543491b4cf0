/**
 * Works off the jobs of backups, one at a time on a node. A job is at work as long as a connection lives
 * that holds its lock: nobody has to notice, or to clean a flag up, when its process dies. Two hold it: one
 * does the work and ends with it, the other stays until the outcome is written down.
 */

import { poller } from '../../../lib/poller.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Time } from '../../../lib/time.ts'
import { UnreadableError } from '../../../platform/crypto/index.ts'
import type { DifferingSafeguards } from '../../../platform/db/fixes/index.ts'
import {
  type Conflicts,
  type Connection,
  isPassing,
  logFailures,
  openHolder,
  problemOf,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import type { Migration } from '../../../platform/db/migrate.ts'
import { append } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { RestoreColumns, RestoreSteps } from '../../../platform/restore-columns.ts'
import type { PurgedRecords, RestoreRules } from '../../../platform/restore-rule.ts'
import { findPlatformTenant } from '../../tenants/index.ts'
import { insertBackup } from '../backups.store.ts'
import { type CreateDeps, createBackup } from '../create/create.ts'
import { openPace } from '../create/pace.ts'
import { holdsUpOthers } from '../create/snapshot.store.ts'
import { forgetPurged, settleLeft } from '../erase/forget-purged.ts'
import { KeptError, type Rewritten } from '../erase/rewrite.ts'
import { UnreadableFile } from '../file/age.ts'
import { fileName, sidecarName } from '../file/names.ts'
import type { RestoreOptions, RestoreResult } from '../restore-in-place/outcome.ts'
import { RefusedError } from '../restore-in-place/refused.ts'
import { type RestoreDeps, restoreBackup } from '../restore-in-place/restore.ts'
import { NoRoomError, NotStoredError, StoreError } from '../stores/store.ts'
import * as store from './work.store.ts'

const LOOK_EVERY_MS = 2_000
const TELL_EVERY_MS = 1_000
/** Between two tries to write down how a job has ended. */
const END_AGAIN_MS = 500

export interface WorkerDeps extends CreateDeps {
  db: Scopes
  clock: Time
  /** What a restore does with each table. */
  rules: RestoreRules
  columns: RestoreColumns
  steps: readonly RestoreSteps[]
  /** Records that come back from no backup once they were destroyed. */
  purgedRecords: readonly PurgedRecords[]
  /** The problem that a broken constraint is, in the words of its feature. */
  conflicts: Conflicts
  /** Opens a connection without time limits, as the owner of the tables. */
  openConnection(): Connection
  /** Proves that what the connection sees in its scope opens. */
  prove(client: Connection): Promise<void>
  /** Says which of the database's safeguards are not those of its schema. */
  differing: DifferingSafeguards
  /** Where a server is made that brings older backups up to date. */
  dataDir: string
  migrations?: Migration[] | undefined
  /** The one job that it does where no process takes what waits; without it, all that wait. */
  only?: string | undefined
  /** Told within the transaction that completes a backup. */
  onMade(tx: TenantTx): Promise<void>
  log: Logger
}

const SOMEBODY_WAITS = 'somebody waits for a table, such as a migration'

/** What came of a job. */
interface Outcome {
  made?: store.Made
  result?: RestoreResult
  rewritten?: Rewritten
}

/** The work gives way, and begins anew later. */
class GiveWay extends Error {}

export interface BackupWorker {
  wake(): void
  /** Resolves when no job is queued that this process can do. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export function startWorker(given: WorkerDeps): BackupWorker {
  // What it closes the service for is its own work.
  const deps = { ...given, db: given.db.whileClosed() }
  const { db, clock, log } = deps
  const stopping = new AbortController()

  /** What waits is done with the store and the keys of the service, and outlives whoever asks for it. */
  const isLeft = async () =>
    deps.only !== undefined && (await db.acrossTenants(store.isTakenByOthers, 'read'))

  async function look(): Promise<boolean> {
    await buryAbandoned(deps)
    if (stopping.signal.aborted || (await isLeft())) return false
    const job = await db.acrossTenants((tx) => store.findQueued(tx, deps.only), 'read')
    return job !== undefined && (await work(deps, job, stopping.signal)) === 'ended'
  }

  const looking = poller(look, {
    clock,
    pollMs: LOOK_EVERY_MS,
    failureGapMs: LOOK_EVERY_MS,
    onError: logFailures('looking for work on backups', log),
  })
  return {
    wake: looking.wake,
    idle: looking.idle,
    stop() {
      stopping.abort(new GiveWay('the service stops'))
      return looking.stop()
    },
  }
}

/** Does a job. Returns whether it ended, or was left to others or to later. */
async function work(
  deps: WorkerDeps,
  job: store.Job,
  stopping: AbortSignal,
): Promise<'ended' | 'left'> {
  const connection = deps.openConnection()
  const holder = await openHolder(connection)
  try {
    if (!(await holder.take('longJobs', job.number))) return 'left'
    // From here on the connection that does the work can hold it as well.
    await store.shareJob(connection, job)
    await holder.release('longJobs', job.number)
    return await begin(deps, job, AbortSignal.any([stopping, holder.lost]))
  } finally {
    await canFail(holder.close(), "letting go of a backup's job", deps.log)
  }
}

/** Begins a job whose lock is held, and does it on a connection of its own. */
async function begin(
  deps: WorkerDeps,
  job: store.Job,
  ending: AbortSignal,
): Promise<'ended' | 'left'> {
  const { db, log } = deps
  const client = deps.openConnection()
  await client.connect()
  try {
    await store.shareJob(client, job)
    if (!(await db.acrossTenants((tx) => store.beginJob(tx, job)))) return 'left'
    log.info({ backup: job.backup_id, kind: job.kind, tenant: job.tenant_id }, 'backup job begun')
    return await finish(deps, job, ending, () => perform(deps, client, job, ending))
  } finally {
    await canFail(client.end(), "closing a backup's connection", log)
  }
}

/** Does what is asked for on the connection, and tells meanwhile how far it is. */
async function perform(
  deps: WorkerDeps,
  client: Connection,
  job: store.Job,
  ending: AbortSignal,
): Promise<Outcome> {
  const givingWay = new AbortController()
  const signal = AbortSignal.any([ending, givingWay.signal])
  // A query that waits or runs is not waited for.
  const end = () => void canFail(client.end(), 'ending a backup', deps.log)
  signal.addEventListener('abort', end)
  const telling = tellProgress(deps, job, () => givingWay.abort(new GiveWay(SOMEBODY_WAITS)))
  const watch = { ...telling.watch, signal, quiet: telling.stop }
  try {
    signal.throwIfAborted()
    if (job.kind === 'create') {
      const rest = openPace(deps.db)
      return { made: await createBackup(client, job, deps, { ...watch, rest }) }
    }
    if (job.kind === 'forget') return { rewritten: await forgetPurged(deps, job, watch) }
    const options = job.options as RestoreOptions
    if (!options.dry_run) await requireInTime(deps, job)
    const safety = safetyOf(deps)
    return { result: await restoreBackup(client, job, options, { ...deps, safety }, watch) }
  } catch (error) {
    // Ended, the connection and the store fail as they may: why it was ended is what counts.
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', end)
    await telling.stop()
  }
}

/** Whatever it has waited for. @throws RefusedError where a restore was ordered too long ago */
async function requireInTime({ db }: WorkerDeps, { id }: store.Job): Promise<void> {
  const ordered = await db.acrossTenants((tx) => store.findLapsed(tx, id), 'read')
  if (ordered !== undefined)
    throw new RefusedError(`it was ordered at ${ordered} and waited too long; order it again`)
}

/** Says how far a job is, and looks whether it holds anybody up. */
function tellProgress({ db, clock, log }: WorkerDeps, job: store.Job, giveWay: () => void) {
  const state: { progress: number; pid?: number } = { progress: 0 }
  const telling = poller(
    async () => {
      const { progress, pid } = state
      await db.acrossTenants((tx) => store.saveProgress(tx, job.id, progress))
      if (pid !== undefined && (await db.acrossTenants((tx) => holdsUpOthers(tx, pid), 'read')))
        giveWay()
      return false
    },
    {
      clock,
      pollMs: TELL_EVERY_MS,
      onError: logFailures('telling how far a backup is', log),
    },
  )
  return {
    stop: telling.stop,
    watch: {
      progress(share: number) {
        state.progress = share
      },
      holding(pid: number) {
        state.pid = pid
      },
    },
  }
}

/** The rows of a restore's safety backup. */
function safetyOf({ db }: WorkerDeps): RestoreDeps['safety'] {
  return {
    begin: (id, { actor }, tenantId) =>
      db.acrossTenants(async (tx) => {
        if (await store.beginAgain(tx, id)) return
        await insertBackup(tx, {
          id,
          type: tenantId === null ? 'full' : 'tenant',
          tenant_id: tenantId,
          reason: 'safety',
          created_by: actor.user_id,
        })
      }),
    complete: (id, made) => db.acrossTenants((tx) => store.completeBackup(tx, id, made)),
  }
}

async function finish(
  deps: WorkerDeps,
  job: store.Job,
  ending: AbortSignal,
  run: () => Promise<Outcome>,
): Promise<'ended' | 'left'> {
  const { db, log } = deps
  const { backup_id: backup, kind } = job
  try {
    const { made, result, rewritten } = await run()
    await conclude(deps, job, ending, async (tx) => {
      // A restore has ended its job itself, with all the rest or not at all.
      if (kind !== 'restore') await store.requireAtWork(tx, job)
      if (made) {
        await store.completeBackup(tx, backup, made)
        const { locked_until: _, ...told } = made
        await tell(tx, job, 'backup.created', told)
        await deps.onMade(tx)
      }
      if (rewritten) {
        const { records, forgotten } = rewritten
        await tell(tx, job, 'backup.rewritten', { records, forgotten })
      }
      await store.endJob(tx, job, null, result)
    })
    log.info({ backup, kind }, 'backup job completed')
    return 'ended'
  } catch (error) {
    // The answer to its commit was lost: what it has made is to stay.
    if (await db.acrossTenants((tx) => store.isCompleted(tx, job.id))) {
      log.warn({ err: error, backup, kind }, 'backup job completed, though its end was not heard')
      return 'ended'
    }
    await cleanUp(deps, job)
    // A restore that was ended is not begun again by itself: nobody may be waiting for it any more.
    if (error instanceof GiveWay && kind !== 'restore') {
      log.info({ backup, reason: error.message }, 'backup put off')
      await db.acrossTenants((tx) => store.requeueJob(tx, job))
      return 'left'
    }
    log.error({ err: error, backup, kind }, 'backup job failed')
    await conclude(deps, job, ending, (tx) => fail(tx, job, sentenceOf(error, deps.conflicts)))
    return 'ended'
  }
}

/**
 * Writes down how a job has ended, as soon as it can: a restore of everything, by another node, lets nobody write for
 * minutes. What was made waits for that, as nobody takes the job for abandoned while its lock is held.
 * @throws the signal's reason where that comes first
 */
async function conclude(
  { db, clock, log }: WorkerDeps,
  { kind }: store.Job,
  ending: AbortSignal,
  work: (tx: TenantTx) => Promise<void>,
): Promise<void> {
  // What may be closed is closed by itself.
  if (kind === 'restore') return db.acrossTenants(work)
  const told = logFailures('writing down how a backup has ended', log)
  for (let previous: unknown; ; ) {
    try {
      await db.requireOpen(null)
      return await db.acrossTenants(async (tx) => {
        await store.waitBriefly(tx)
        await work(tx)
      })
    } catch (error) {
      if (!isPassing(error)) throw error
      if (ending.aborted) throw ending.reason
      told(error, previous)
      previous = error
    }
    await clock.delay(END_AGAIN_MS, { signal: ending }).catch(() => undefined)
  }
}

/** What it takes to end a job. */
export type BuryDeps = Pick<WorkerDeps, 'db' | 'store' | 'keeper' | 'log'>

/** Ends the jobs whose processes have died. */
export async function buryAbandoned(deps: BuryDeps): Promise<void> {
  for (const job of await deps.db.acrossTenants(store.findAbandoned)) await bury(deps, job)
}

/** Ends a job whose process has died. */
export async function bury(deps: BuryDeps, job: store.Job): Promise<void> {
  await cleanUp(deps, job)
  const error = 'The process that did it ended before it was done; ask for it again.'
  await deps.db.acrossTenants((tx) => fail(tx, job, error))
}

async function fail(tx: TenantTx, job: store.Job, error: string): Promise<void> {
  if (await store.endJob(tx, job, error)) await tell(tx, job, 'backup.failed', { error })
}

/** Takes away what was written of a file that will not be completed. */
async function cleanUp(deps: BuryDeps, job: store.Job): Promise<void> {
  const { kind, backup_id } = job
  if (kind === 'create') await discard(deps, backup_id)
  if (kind === 'restore')
    for (const id of await deps.db.acrossTenants((tx) => store.failSafeties(tx, job)))
      await discard(deps, id)
  if (kind === 'forget') await settleLeft(deps, job)
}

async function discard({ store: files, log }: BuryDeps, id: string): Promise<void> {
  for (const name of [fileName(id, null), sidecarName(id)]) {
    await canFail(files.discard(name), 'deleting half a backup', log)
    await canFail(files.delete(name), 'deleting a backup that failed', log)
  }
}

/** Tells the journal. What is of everything is the platform's, whose webhooks are to hear of it. */
async function tell(
  tx: TenantTx,
  { actor, tenant_id, backup_id, type, reason }: store.Job,
  action: 'backup.created' | 'backup.failed' | 'backup.rewritten',
  changes: object,
): Promise<void> {
  await append(tx, actor, {
    action,
    tenant_id: tenant_id ?? (await findPlatformTenant(tx))?.id ?? null,
    resource_type: 'backup',
    resource_id: backup_id,
    changes: { type, reason, ...changes },
  })
}

const SENTENCES = [NoRoomError, NotStoredError, StoreError, KeptError, store.LostJobError]

/** Why a job failed, for whoever asked for it: what may be told, and the log for the rest. */
function sentenceOf(error: unknown, conflicts: Conflicts): string {
  if (error instanceof RefusedError) return `Refused: ${error.message}.`
  if (error instanceof GiveWay) return `Nothing was restored: ${error.message}. Ask for it again.`
  if (SENTENCES.some((kind) => error instanceof kind)) return `${(error as Error).message}.`
  if (error instanceof UnreadableError)
    return `Nothing was restored: what the backup holds does not open (${error.message}).`
  if (error instanceof UnreadableFile) return `The file cannot be used: ${error.message}.`
  const problem = error instanceof Problem ? error : problemOf(error, conflicts)
  return problem ? `${problem.message}.` : 'A fault of the service; its log has the cause.'
}
