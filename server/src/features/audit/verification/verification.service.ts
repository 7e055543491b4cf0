/** Reports the state of the verification of audit logs, and starts it on request. */
import { type Auditor, requireOwnTenant } from '../../../platform/access/index.ts'
import {
  forCaller,
  type Scope,
  type Scopes,
  scopeOf,
  type TenantTx,
} from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { actorOf, requireSession } from '../../../platform/journal/index.ts'
import type { AuditVerifications, VerifyQuery } from './verification.schema.ts'
import * as store from './verifications.store.ts'
import { type RunOptions, type VerifyDeps, verifyLogs } from './verify-logs.ts'

/** The lease of a run, in seconds. The next run continues an expired one, so it is not retried at once. */
const LEASE_SECONDS = 3_500
const VERIFY = jobKind<Record<string, never>>('audit.verify', { expireInSeconds: LEASE_SECONDS })
const VERIFY_NOW = jobKind<Record<string, never>>('audit.verify-now', {
  expireInSeconds: LEASE_SECONDS,
})

/** Every hour. */
const CRON = '23 * * * *'
/** The maximum number of logs in a response. */
const MAX_LOGS = 1_000

export interface AuditVerificationService {
  /** Lists the state of the logs that the caller may see. @throws Problem 403 for another tenant */
  list(caller: Auditor, query: VerifyQuery): Promise<AuditVerifications>
  /** Starts a verification of these logs. @throws Problem 403 for another tenant */
  start(caller: Auditor, query: VerifyQuery): Promise<AuditVerifications>
}

interface ScheduleDeps extends VerifyDeps {
  jobs: Jobs
  /** Called after each run. */
  onEnd(): Promise<unknown>
}

/** Schedules the verification, on one node at a time. */
export function schedulesVerification({ jobs, onEnd, ...deps }: ScheduleDeps): void {
  const run = (options: RunOptions) => verifyLogs(deps, options).finally(onEnd)
  jobs.schedule(VERIFY, CRON)
  jobs.work(VERIFY, (_, { signal }) => run({ signal }))
  jobs.work(VERIFY_NOW, (_, { signal }) => run({ signal, isOnlyRequested: true }))
}

export function auditVerifications({
  db,
  jobs,
}: {
  db: Scopes
  jobs: Jobs
}): AuditVerificationService {
  const scoped = (caller: Auditor, { tenant_id }: VerifyQuery): Scope => {
    requireOwnTenant(caller, tenant_id)
    return scopeOf(caller, tenant_id)
  }
  return {
    async list(caller, query) {
      const scope = scoped(caller, query)
      return forCaller(db, caller, (tx) => stateOf(tx, scope), 'read')
    },

    async start(caller, query) {
      const scope = scoped(caller, query)
      return forCaller(db, caller, async (tx) => {
        requireSession(tx, actorOf(caller))
        await store.requestPasses(tx, scope)
        await jobs.send(tx, VERIFY_NOW, {}, { singletonKey: 'requested' })
        return stateOf(tx, scope)
      })
    },
  }
}

async function stateOf(tx: TenantTx, scope: Scope): Promise<AuditVerifications> {
  const rows = await store.listVerifications(tx, scope, MAX_LOGS)
  return {
    items: rows.map(({ pass_size: size, next_index, pass_started_at, is_requested, ...state }) => {
      const isRunning = size !== null && next_index !== null && pass_started_at !== null
      const running = isRunning
        ? { size, done: size - next_index, started_at: pass_started_at, is_requested }
        : null
      return { ...state, running }
    }),
  }
}
