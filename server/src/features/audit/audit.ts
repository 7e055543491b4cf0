import { minRetentionDays } from '../../config/audit-variables.ts'
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { trackedJobs } from '../../platform/jobs/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import { auditOperations } from './audit.routes.ts'
import { auditService } from './audit.service.ts'
import { exportOperations } from './export/export.routes.ts'
import { auditExports } from './export/export.service.ts'
import { AUDIT_FIGURES } from './overview.ts'
import { archiveFolder, schedulesRetention } from './retention/retention.ts'
import { schedulesAnchors } from './transparency/anchors.ts'
import { openAuditKeys } from './transparency/audit-key.ts'
import { sealsAfterEpochs } from './transparency/epochs.ts'
import { openPurge } from './transparency/erase.ts'
import { auditHeads } from './transparency/heads.service.ts'
import { openOutsideHeads } from './transparency/outside-heads.ts'
import { SEALER } from './transparency/sealer.ts'
import { auditTiles } from './transparency/tiles.service.ts'
import { transparencyOperations } from './transparency/transparency.routes.ts'
import { TRANSPARENCY_TABLES } from './transparency/transparency.table.ts'
import { openWitnesses } from './transparency/witnesses.ts'
import type { ListSuperadmins } from './verification/record-findings.ts'
import { verificationOperations } from './verification/verification.routes.ts'
import { auditVerifications, schedulesVerification } from './verification/verification.service.ts'
import { watchVerification } from './verification/verification-health.ts'

type Core = Needs<
  | 'db'
  | 'log'
  | 'clock'
  | 'replica'
  | 'changes'
  | 'readers'
  | 'sealer'
  | 'publicUrl'
  | 'jobs'
  | 'hold'
  | 'mailer'
  | 'metrics'
  | 'openConnection',
  'AUDIT_ARCHIVE_DIR' | 'AUDIT_WITNESSES' | 'DATA_DIR' | 'WEBHOOK_RETENTION_DAYS'
>

/** @param listSuperadmins lists those who receive a mail if an audit log was altered */
export function openAudit(core: Core, listSuperadmins: ListSuperadmins): Feature {
  const { db, log, readers } = core
  const { AUDIT_WITNESSES: witnesses, DATA_DIR } = core.config
  const keys = openAuditKeys(core)
  const outside = openOutsideHeads(DATA_DIR, log)
  const heads = auditHeads({ db, log, keys, outside, witnesses })
  readers.add(SEALER.name, SEALER)
  schedulesAnchors(core, heads)
  const health = watchVerification(db, core.metrics.registry)
  schedulesVerification({
    ...core,
    db: db.withPatience(),
    listSuperadmins,
    onVerified: health.onVerified,
    onEnd: () => canFail(health.refresh(), health.upkeep.what, log),
  })
  const retention = schedulesRetention({
    ...core,
    db: db.withPatience(),
    heads,
    keys,
    folder: archiveFolder(core.config),
    readers: readers.names,
    minDays: minRetentionDays(core.config.WEBHOOK_RETENTION_DAYS),
  })
  const watched = openWitnesses(core, heads)
  return {
    name: 'audit',
    tables: TRANSPARENCY_TABLES,
    operations: [
      ...auditOperations(auditService(db)),
      ...exportOperations(auditExports(core)),
      ...transparencyOperations(heads, auditTiles({ db, log })),
      ...verificationOperations(auditVerifications(core)),
    ],
    figures: AUDIT_FIGURES,
    checks: { audit_log: health.check, audit_retention: retention.check, ...watched.checks },
    upkeep: [health.upkeep, retention.upkeep, ...(watched.upkeep ?? [])],
    jobs: [trackedJobs(db, ['export'], 'entries')],
    purgeRows: openPurge('The tenant was purged.'),
    close: watched.close ?? (() => undefined),
    background: () => sealsAfterEpochs({ ...core, outside, keys }),
  }
}
