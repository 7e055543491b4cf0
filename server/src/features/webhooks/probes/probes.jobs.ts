/** Asks receivers for which a webhook was deactivated whether they answer again, seldom and a few at a time. */
import { type Clock, DAY, HOUR, isoAt } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { OutboundHold } from '../../../platform/hold/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Probe } from '../deliveries/test-deliveries.service.ts'
import * as store from './probes.store.ts'

/** Tried once, and never later: the next one comes within the hour. */
const PROBE = jobKind<Record<string, never>>('webhooks.probe', {
  retries: 0,
  mayRunLate: false,
  expireInSeconds: 1800,
})
const AT_ONCE = 8
/** In one run, so that it ends before the next even where none of them answers. */
const MOST = 240
const APART_MS = 6 * HOUR
/** Who has not answered for this long is left in peace. */
const FORGOTTEN_MS = 30 * DAY

export interface ProbesDeps {
  db: Scopes
  clock: Clock
  log: Logger
  /** Sends `webhook.test`. */
  probe: Probe
}

/** Every hour, where messages may go out at all. */
export function probesReceivers(deps: ProbesDeps & { jobs: Jobs; hold: OutboundHold }): void {
  deps.jobs.schedule(PROBE, '13 * * * *')
  deps.jobs.work(PROBE, (_data, { signal }) => probeDisabled(deps, signal), {
    when: deps.hold.whenReleased,
  })
}

/** Exported for its test. */
export async function probeDisabled(deps: ProbesDeps, signal: AbortSignal): Promise<void> {
  const { db, clock } = deps
  for (let asked = 0; asked < MOST; asked += AT_ONCE) {
    signal.throwIfAborted()
    const now = isoAt(clock)
    const times = {
      now,
      before: isoAt(clock, -APART_MS),
      failingSince: isoAt(clock, -FORGOTTEN_MS),
    }
    const taken = await db.acrossTenants((tx) => store.takeProbes(tx, times, AT_ONCE))
    await Promise.all(taken.map((webhook) => ask(deps, webhook, now, signal)))
    if (taken.length < AT_ONCE) return
  }
}

async function ask(
  { db, log, probe }: ProbesDeps,
  webhook: store.Probed,
  askedAt: string,
  signal: AbortSignal,
): Promise<void> {
  const { id, tenant_id } = webhook
  const asking = probe(webhook, signal).then((hasAnswered) =>
    db.inTenant(tenant_id, (tx) => store.noteProbe(tx, { id, askedAt, hasAnswered })),
  )
  // One that cannot be asked must not keep the others from it.
  await canFail(asking, `asking whether the receiver of webhook ${id} answers`, log)
}
