/** Writes anchors: the sizes and roots of all logs that grew, into the log of the platform (ADR 0042). */
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { AuditHeadsService } from './heads.service.ts'
import { ANCHORED } from './leaf.ts'
import * as store from './logs.store.ts'
import { verifiedRoot } from './verified-root.ts'

const ANCHOR = jobKind<Record<string, never>>('audit.anchor')

/** Every 10 minutes. */
const CRON = '*/10 * * * *'

/** The maximum number of logs in an entry. The logs are locked until the entry is written. */
const MAX_LOGS = 100

interface AnchorDeps {
  db: Scopes
  log: Logger
}

/** Schedules the anchors and a head of the platform's log, which is kept outside the database. On one node at a time. */
export function schedulesAnchors(
  { jobs, ...deps }: AnchorDeps & { jobs: Jobs },
  heads: Pick<AuditHeadsService, 'platform'>,
): void {
  jobs.schedule(ANCHOR, CRON)
  jobs.work(ANCHOR, async () => {
    await anchorLogs(deps)
    await heads.platform()
  })
}

/** Anchors the sealed entries of each log that grew since its last anchor. Writes nothing if none grew. */
export async function anchorLogs({ db, log }: AnchorDeps): Promise<void> {
  let from: number | undefined = store.PLATFORM_LOG
  while (from !== undefined) {
    const after: number = from
    from = await db.acrossTenants((tx) => anchorSome(tx, after, log))
  }
}

/** Anchors up to `MAX_LOGS` logs of tenants above `after`. Returns the last tenant, or undefined at the end. */
async function anchorSome(tx: TenantTx, after: number, log: Logger): Promise<number | undefined> {
  const grown = await store.lockGrownLogs(tx, after, MAX_LOGS)
  const anchored: { row: store.LogRow; root: Buffer }[] = []
  for (const row of grown) {
    const { tenant_id, epoch } = row
    const root = await verifiedRoot(tx, row)
    if (root) anchored.push({ row, root })
    else log.error({ tenant_id, epoch }, 'audit log was altered')
  }
  if (anchored.length > 0) {
    await store.rememberAnchors(tx, anchored)
    await append(tx, SYSTEM, {
      action: ANCHORED,
      tenant_id: null,
      resource_type: 'audit_log',
      changes: {
        logs: anchored.map(({ row: { tenant_id, epoch, size }, root }) => ({
          tenant_id,
          epoch,
          size,
          root: root.toString('base64'),
        })),
      },
    })
  }
  return grown.length === MAX_LOGS ? grown.at(-1)?.tenant_id : undefined
}
