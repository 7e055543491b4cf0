/** Notifications that nobody works on, and those that were given up though they may be worth another try. */
import { isoAt, MINUTE } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { Finding, Fix } from '../../../platform/fix.ts'
import { idIn } from '../../../platform/subject.ts'
import { MAX_AHEAD_MS } from '../inbox/claims.store.ts'
import { INBOX_TOPIC } from '../inbox/topics.ts'
import type { Reason } from '../payment-facts.ts'
import type { RecordsDeps } from '../records/records.service.ts'
import { tryAgain } from '../records/records.service.ts'
import { countOpen } from '../upkeep/upkeep.store.ts'
import * as store from './fixes.store.ts'

/** What is due is claimed within seconds; through a flood of them, and a provider that is slow, within this. */
const UNCLAIMED_FOR = 15 * MINUTE
/** The provider was asked for a day. */
export const GIVEN_UP: readonly Reason[] = ['provider_away', 'not_confirmed']
const MOST_COUNTED = 10_000

export type FixDeps = Pick<RecordsDeps, 'seals' | 'providers' | 'log'> & { clock: Time }

export function stuck(deps: FixDeps): Fix {
  const { clock } = deps
  const outside = () => ({
    before: isoAt(clock, -UNCLAIMED_FOR),
    beyond: isoAt(clock, MAX_AHEAD_MS),
  })
  return {
    key: 'payments.stuck',
    title: 'Payment notifications are stuck in the inbox',
    description:
      'A notification was due long ago and no process has taken it; or a node whose clock was wrong has put ' +
      'it off for hours; or its provider did not confirm it for a day and it was given up. What it tells of ' +
      'a payment is not known here.',
    severity: 'high',
    automatic: false,
    plan:
      'Has the notification worked on now, with all its tries again. Where no process of the role worker ' +
      'runs, or the provider is not configured any more, it waits on.',
    runbook: 'before-confirming.md',
    async detect(tx) {
      const unclaimed = await store.listUnclaimed(tx, outside())
      const givenUp = await store.listFailed(tx, GIVEN_UP)
      const found = [...unclaimed, ...givenUp]
      return { findings: found.map(findingOf), looked_at: await countInbox(tx) }
    },
    repair: (finding, repairing) =>
      repairing(async (tx) => {
        const id = Number(idIn(finding))
        const one = await store.outcomeOf(tx, id)
        if (one?.state === 'failed') {
          await tryAgain(deps, tx, id)
          return 'repaired'
        }
        tx.notify(INBOX_TOPIC)
        const isDue = await store.makeDue(tx, id, { now: isoAt(clock), ...outside() })
        return isDue ? 'repaired' : 'already gone'
      }),
  }
}

export function findingOf(one: store.FaultyNotification): Finding {
  const { id, tenant_id, provider, state, reason, attempts, since } = one
  return {
    tenant_id,
    subject: `notification ${id}`,
    measured: { provider, state, reason, attempts },
    expected: { state: 'applied' },
    since,
  }
}

export async function countInbox(tx: Parameters<Fix['detect']>[0]): Promise<number> {
  const open = await countOpen(tx, MOST_COUNTED)
  return open.reduce((sum, { count }) => sum + count, 0)
}
