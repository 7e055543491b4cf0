/** Reports findings in the audit logs to the health check and the metrics. Reads them once a minute on every node. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { MINUTE } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { ComponentHealth } from '../../../platform/feature/feature.ts'
import type { Upkeep } from '../../../platform/lifecycle/upkeep.ts'
import { FINDING_KINDS } from '../offline/index.ts'
import { countFindings, findOldest, isAnyVerified } from './verifications.store.ts'

export interface VerificationHealth {
  check(): ComponentHealth
  onVerified(leaves: number): void
  /** Reads the current state from the database, without waiting for the next poll. */
  refresh(): Promise<void>
  readonly upkeep: Upkeep
}

export function watchVerification(db: Scopes, registry: Registry): VerificationHealth {
  let findings: Awaited<ReturnType<typeof countFindings>> = []
  let oldest: string | null = null
  /** Undefined until the database was read. */
  let isVerified: boolean | undefined
  const registers = [registry]
  new Gauge({
    name: 'wardkeep_audit_findings',
    help: 'Findings of tampering in the audit logs, by kind',
    labelNames: ['kind'] as const,
    registers,
    collect() {
      for (const kind of Object.keys(FINDING_KINDS))
        this.set({ kind }, findings.find((found) => found.kind === kind)?.count ?? 0)
    },
  })
  const leaves = new Counter({
    name: 'wardkeep_audit_verified_leaves_total',
    help: 'Entries of the audit logs that this node has verified in the background',
    registers,
  })
  new Gauge({
    name: 'wardkeep_audit_verified_timestamp_seconds',
    help: 'Oldest end of the last verification among all audit logs, in seconds since the Unix epoch',
    registers,
    collect() {
      if (oldest !== null) this.set(Date.parse(oldest) / 1000)
    },
  })
  async function refresh() {
    ;({ findings, oldest, isVerified } = await db.acrossTenants(
      async (tx) => ({
        findings: await countFindings(tx),
        oldest: await findOldest(tx),
        isVerified: await isAnyVerified(tx),
      }),
      'read',
    ))
  }
  return {
    check() {
      const count = findings.reduce((sum, found) => sum + found.count, 0)
      if (count === 0)
        return isVerified === false
          ? { state: 'ok', reason: 'No audit log has been verified yet.' }
          : { state: 'ok' }
      const kinds = findings.map(({ kind }) => FINDING_KINDS[kind]).join(', ')
      return {
        state: 'degraded',
        reason: `The audit log was altered (findings: ${count}, ${kinds}).`,
        since: findings.map(({ since }) => since).toSorted()[0],
        runbook: 'audit-log-finding.md',
      }
    },
    onVerified: (count) => leaves.inc(count),
    refresh,
    upkeep: {
      what: 'audit log health check',
      everyMs: MINUTE,
      isNeededToServe: false,
      run: refresh,
    },
  }
}
