/** Runs fixes without the engine: the check of a scan, and the repair of a confirmation. */
import { sql } from 'kysely'
import { expect } from 'vitest'
import { inScope, type Scopes } from '../../src/platform/db/index.ts'
import type { Feature } from '../../src/platform/feature/feature.ts'
import type { Detected, Finding, Fix, Repaired } from '../../src/platform/feature/fix.ts'
import { superadmin } from './clinics.ts'
import type { Service } from './service.ts'

export function fixOf(fixes: readonly Fix[], key: string): Fix {
  const fix = fixes.find((one) => one.key === key)
  if (!fix) throw new Error(`there is no fix ${key}`)
  return fix
}

export const look = (db: Scopes, fix: Fix, from?: string): Promise<Detected> =>
  db.acrossTenants((tx) => fix.detect(tx, from), 'read')

export const findings = async (db: Scopes, fix: Fix): Promise<readonly Finding[]> =>
  (await look(db, fix)).findings

export function repair(db: Scopes, fix: Fix, finding: Finding): Promise<Repaired> {
  if (!fix.repair) throw new Error(`${fix.key} repairs nothing`)
  return fix.repair(finding, (work) =>
    inScope(db, finding.tenant_id, async (tx) => {
      await sql`set local lock_timeout = '2s'`.execute(tx.db)
      return work(tx)
    }),
  )
}

/** A fix that a feature of the service provides. */
export interface FixInHand {
  look(): Promise<Detected>
  findings(): Promise<readonly Finding[]>
  repair(finding: Finding): Promise<Repaired>
}

export function fixIn({ app }: Service, key: string): FixInHand {
  const features: readonly Feature[] = Object.values(app.features)
  const fix = fixOf(
    features.flatMap(({ fixes = [] }) => fixes),
    key,
  )
  return {
    look: () => look(app.db, fix),
    findings: () => findings(app.db, fix),
    repair: (finding) => repair(app.db, fix, finding),
  }
}

/**
 * Follows an operator's steps over HTTP: a scan proposes the repair with its evidence, a confirmation repairs
 * everything, and the next scan finds nothing. Returns the evidence.
 */
export async function scanAndConfirm(service: Service, key: string): Promise<readonly Finding[]> {
  const { token } = await superadmin(service)
  const scanned = async () => {
    await service.app.features.selfHealing.scan()
    const { body } = await service.call('GET', '/api/admin/self-healing/fixes', { token })
    return body.items.find((item: { key: string }) => item.key === key)
  }
  const { id, ...proposed } = await scanned()
  expect(proposed).toMatchObject({ status: 'proposed', unknown: null })
  expect(proposed.occurrences).toBe(proposed.evidence.length)
  const confirmed = await service.call('POST', `/api/admin/self-healing/confirm/${id}`, { token })
  expect(confirmed.status).toBe(200)
  const result = { repaired: proposed.occurrences, already_gone: 0, failed: 0, remaining: 0 }
  expect(confirmed.body).toMatchObject({ status: 'applied', result })
  expect(await scanned()).toMatchObject({ status: 'applied', occurrences: 0, evidence: [] })
  return proposed.evidence
}
