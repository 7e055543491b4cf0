/** Probes receivers of deactivated webhooks, rarely and a few at a time, to find out whether they respond again. */
import { type Clock, DAY, HOUR, isoAt } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { OutboundHold } from '../../../platform/hold/hold.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Probe } from '../deliveries/test-deliveries.service.ts'
import * as store from './probes.store.ts'

/** The job that probes receivers. A failed job is not retried, because the next one follows within the hour. */
const PROBE = jobKind<Record<string, never>>('webhooks.probe', {
  retries: 0,
  expireInSeconds: 1800,
})
const AT_ONCE = 8
/** The maximum number of probes in one run, so that the run ends before the next one even if no receiver responds. */
const MOST = 240
const APART_MS = 6 * HOUR
/** How long a receiver may fail until it is no longer probed. */
const FORGOTTEN_MS = 30 * DAY

export interface ProbesDeps {
  db: Scopes
  clock: Clock
  log: Logger
  probe: Probe
}

/** Registers the job that probes receivers every hour. It does nothing while outgoing messages are paused. */
export function probesReceivers(deps: ProbesDeps & { jobs: Jobs; hold: OutboundHold }): void {
  deps.jobs.schedule(PROBE, '13 * * * *')
  deps.jobs.work(PROBE, (_data, { signal }) => probeDisabled(deps, signal), {
    when: deps.hold.whenReleased,
  })
}

/** Probes the receivers that are due for a probe, eight at a time. Exported for its test. */
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
  // An internal error in one probe must not stop the other probes.
  await canFail(asking, `probe of the receiver of webhook ${id}`, log)
}
