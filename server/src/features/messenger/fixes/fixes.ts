/** The faults that the messenger can find in itself. */
import { DAY, isoAt, MINUTE } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { Fix } from '../../../platform/fix.ts'
import type { OutboundHold } from '../../../platform/hold/index.ts'
import { findStanding } from '../bot/bot.store.ts'
import { TOPIC_BOT, TOPIC_DUE } from '../topics.ts'
import * as store from './fixes.store.ts'

/** Longer than a deployment or a restart of the database leaves the bot to nobody. */
const FREE_MINUTES = 2
/** How long a repair waits for a process to take the bot: each asks every second. */
const TAKEN_WITHIN_MS = 5_000
const LOOK_MS = 100
/** What waits for longer fails or rests again and again; after a week it is dropped. */
const PAUSED_FOR = 2 * DAY

export interface FixDeps {
  db: Scopes
  clock: Time
  hold: Pick<OutboundHold, 'since'>
  /** Whether one is configured. */
  hasBot: boolean
}

export function messengerFixes(deps: FixDeps): readonly Fix[] {
  return [poller(deps), pausedChats(deps)]
}

/** What has no bot, or is held back, sends nothing: that is its operator's wish. */
const isQuiet = ({ hold, hasBot }: FixDeps) => !hasBot || hold.since() !== null

function poller(deps: FixDeps): Fix {
  const { db, clock } = deps
  const openedAt = clock.now()
  return {
    key: 'messenger.poller',
    title: 'No process is the messenger bot',
    description:
      'A bot is configured, and no process holds its lease: nobody asks for what chats write, and no ' +
      'message goes out. No process of the role worker runs, none reaches the database, or a clock that ' +
      'was wrong has written a lease that nobody can take.',
    severity: 'high',
    automatic: false,
    plan:
      'Ends a lease that reaches further than any, has all processes look at once, and waits for one to ' +
      'take the bot. Where none does, start one with the role worker or all.',
    runbook: 'before-confirming.md',
    async detect(tx) {
      if (isQuiet(deps)) return { findings: [], looked_at: 0 }
      const { leased_until, is_free, is_stuck, epoch } = await store.findLease(tx, FREE_MINUTES)
      const isNew = leased_until === null && clock.now() - openedAt < FREE_MINUTES * MINUTE
      if (isNew || !(is_free || is_stuck)) return { findings: [], looked_at: 1 }
      const measured = {
        lease: is_stuck ? 'reaches too far' : 'held by nobody',
        leased_until,
        epoch,
      }
      const expected = { lease: 'held by a process, and renewed' }
      const since = is_free && leased_until !== null ? { since: leased_until } : {}
      const finding = { tenant_id: null, subject: 'the bot', measured, expected, ...since }
      return { findings: [finding], looked_at: 1 }
    },
    async repair(_finding, repairing) {
      if (await db.acrossTenants(isHeldWell, 'read')) return 'already gone'
      await repairing(async (tx) => {
        await store.freeLease(tx, FREE_MINUTES)
        tx.notify(TOPIC_BOT)
      })
      for (let waited = 0; waited < TAKEN_WITHIN_MS; waited += LOOK_MS) {
        if (await db.acrossTenants(isHeldWell, 'read')) return 'repaired'
        await clock.delay(LOOK_MS)
      }
      throw new Error('no process takes the bot: start one with the role worker or all')
    },
  }
}

const isHeldWell: Parameters<Scopes['acrossTenants']>[0] = async (tx) =>
  (await findStanding(tx)).is_held && !(await store.findLease(tx, FREE_MINUTES)).is_stuck

function pausedChats(deps: FixDeps): Fix {
  const { db, clock } = deps
  return {
    key: 'messenger.paused',
    title: 'Chats have heard nothing for days',
    description:
      'Messages wait for chats that the messenger refused or failed to take each time. They are tried ' +
      'again ever more seldom, and what waits for a week is dropped.',
    severity: 'low',
    automatic: false,
    plan: 'Has these chats tried again now, as if nothing had failed. Those that fail again are found again.',
    runbook: 'before-confirming.md',
    async detect(tx) {
      if (isQuiet(deps)) return { findings: [], looked_at: 0 }
      const found = await store.listPaused(tx, isoAt(clock, -PAUSED_FOR), isoAt(clock))
      return {
        findings: found.map(({ tenant_id, since, ...measured }) => ({
          tenant_id,
          subject: `chats of tenant ${tenant_id}`,
          measured: { ...measured },
          expected: { chats: 0 },
          since,
        })),
        looked_at: found.length > 0 ? await store.countLinks(tx) : 0,
      }
    },
    async repair({ tenant_id }) {
      // Chats are of no tenant: a tenant's own transaction cannot reach them.
      const resumed = await db.acrossTenants(async (tx) => {
        tx.notify(TOPIC_DUE)
        const before = isoAt(clock, -PAUSED_FOR)
        return store.resumePaused(tx, tenant_id as number, before, isoAt(clock))
      })
      return resumed > 0 ? 'repaired' : 'already gone'
    },
  }
}
