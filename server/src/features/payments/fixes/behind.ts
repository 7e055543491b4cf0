/** Payments that are behind their provider: it told of what cannot be applied, or its list cannot be read. */
import { isoAt, MINUTE } from '../../../lib/clock.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Finding, Fix, Repaired, Repairing } from '../../../platform/fix.ts'
import { idIn } from '../../../platform/subject.ts'
import { arm } from '../paygate/reconciliation.store.ts'
import { REASONS, type Reason } from '../payment-facts.ts'
import { tryAgain } from '../records/records.service.ts'
import * as store from './fixes.store.ts'
import { countInbox, type FixDeps, findingOf, GIVEN_UP } from './stuck.ts'

const PROVIDER = 'paygate'
const RECONCILIATION = 'reconciliation with paygate'
/** So many runs in a row that came to no end are no passing trouble. */
const MAX_FAILURES = 3
/** Any node begins a run within seconds after it is due. */
const UNBEGUN_FOR = 15 * MINUTE
const NOT_APPLIED = (Object.keys(REASONS) as Reason[]).filter((one) => !GIVEN_UP.includes(one))

/** How long a repair waits to see what comes of it. */
const RUN_WITHIN_MS = 30_000
const APPLIED_WITHIN_MS = 3_000
const LOOK_MS = 50

export interface BehindDeps extends FixDeps {
  db: Scopes
  /** Whether paygate's list is read at all. */
  isReconciled: boolean
}

export function behind(deps: BehindDeps): Fix {
  const { clock, isReconciled } = deps
  return {
    key: 'payments.behind',
    title: 'Payments are behind what their provider says',
    description:
      'A provider has told of a payment that cannot be applied here, by a notification or in its list, or ' +
      'that list could not be read for some time. What was paid and what the clinic sees may differ.',
    severity: 'high',
    automatic: false,
    plan:
      'Has the notification tried again, or the list read now. What fails again needs what its reason says, ' +
      'such as a tenant that is put back, or credentials that the provider takes.',
    runbook: 'before-confirming.md',
    async detect(tx) {
      const run = isReconciled ? await store.findRun(tx, PROVIDER) : undefined
      const late = run && isLate(run, isoAt(clock, -UNBEGUN_FOR)) ? [findingOfRun(run)] : []
      const failed = await store.listFailed(tx, NOT_APPLIED)
      const looked_at = (await countInbox(tx)) + 1
      return { findings: [...late, ...failed.map(findingOf)], looked_at }
    },
    repair(finding, repairing) {
      if (finding.subject === RECONCILIATION) return runNow(deps, repairing)
      return applyAgain(deps, finding, repairing)
    },
  }
}

const isLate = ({ failures, due_at, leased_until }: store.LateRun, before: string) =>
  failures >= MAX_FAILURES || (due_at < before && (leased_until === null || leased_until < before))

function findingOfRun({ failures, is_refused, reconciled_to, due_at }: store.LateRun): Finding {
  return {
    tenant_id: null,
    subject: RECONCILIATION,
    measured: { failures, credentials_refused: is_refused, read_up_to: reconciled_to },
    expected: { failures: 0, credentials_refused: false },
    since: reconciled_to ?? due_at,
  }
}

/** @throws Error where the run does not come to its end */
async function runNow({ db, clock }: BehindDeps, repairing: Repairing): Promise<Repaired> {
  const find = (tx: TenantTx) => store.findRun(tx, PROVIDER)
  const before = await repairing(async (tx) => {
    await arm(tx, PROVIDER)
    return find(tx)
  })
  for (let waited = 0; waited < RUN_WITHIN_MS; waited += LOOK_MS) {
    const run = await db.acrossTenants(find, 'read')
    if (run && run.attempts > (before?.attempts ?? 0) && run.leased_until === null) {
      if (run.failures === 0) return 'repaired'
      throw new Error(run.is_refused ? REASONS.provider_refused : REASONS.provider_away)
    }
    await clock.delay(LOOK_MS)
  }
  throw new Error(
    'the list was not read to its end within 30 seconds; it is being read, or nobody works',
  )
}

/** @throws Error with why it is not applied this time either */
async function applyAgain(
  deps: BehindDeps,
  finding: Finding,
  repairing: Repairing,
): Promise<Repaired> {
  const id = Number(idIn(finding))
  const isTried = await repairing(async (tx) => {
    if ((await store.outcomeOf(tx, id))?.state !== 'failed') return false
    await tryAgain(deps, tx, id)
    return true
  })
  if (!isTried) return 'already gone'
  for (let waited = 0; waited < APPLIED_WITHIN_MS; waited += LOOK_MS) {
    const now = await deps.db.acrossTenants((tx) => store.outcomeOf(tx, id), 'read')
    if (now?.state === 'failed') throw new Error(REASONS[now.reason ?? 'unreadable'])
    if (now?.state !== 'received') return 'repaired'
    await deps.clock.delay(LOOK_MS)
  }
  // It is due, and waits for whoever works.
  return 'repaired'
}
