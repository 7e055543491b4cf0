/** A service with two witnesses of the platform's log, whose states the tests change. */

import { openAuditKeys } from '../../src/features/audit/transparency/audit-key.ts'
import { auditHeads } from '../../src/features/audit/transparency/heads.service.ts'
import { openOutsideHeads } from '../../src/features/audit/transparency/outside-heads.ts'
import { submitHead } from '../../src/features/audit/transparency/witnesses.ts'
import { readVerifierKey } from '../../src/lib/signed-note.ts'
import { auditCommands } from '../../src/open-features.ts'
import { openRootKeys } from '../../src/platform/crypto/index.ts'
import { appendAll, SYSTEM } from '../../src/platform/journal/index.ts'
import { superadmin } from '../support/clinics.ts'
import { sealAll } from '../support/sealing.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, rootKeys } from '../support/service.ts'
import { openWitnessServer, type WitnessServer } from './witness-server.ts'

interface WitnessItem {
  name: string
  url: string
  size: number
  checkpoint: string | null
  cosigned_at: string | null
  failure: string | null
}

export type WitnessScene = Awaited<ReturnType<typeof openWitnessScene>>

export async function openWitnessScene() {
  const [one, two] = await Promise.all(
    ['witness.test/one', 'witness.test/two'].map(openWitnessServer),
  )
  if (!one || !two) throw new Error('no witness')
  const service = await openService({ config: { AUDIT_WITNESSES: [one.witness, two.witness] } })
  const root = await superadmin(service)
  const { db } = service.app
  const logged: unknown[][] = []
  const level = (name: string) => (fields: object, message: string) =>
    void logged.push([name, fields, message])
  const log = { ...silentLog, warn: level('warn'), error: level('error') } as typeof silentLog
  const { sealer } = await openRootKeys(db, rootKeys(ROOT_KEY))
  const deps = { db, log, sealer, publicUrl: 'http://wardkeep.test', dataDir: service.dataDir }
  const outside = openOutsideHeads(service.dataDir, log)
  const heads = auditHeads({ ...deps, keys: openAuditKeys(deps), outside })
  const { sql } = service.database

  /** Adds entries without a tenant, and seals them. */
  async function grow(entries = 3): Promise<void> {
    const entry = { action: 'job.cancelled', tenant_id: null, resource_type: 'job' } as const
    const added = Array.from({ length: entries }, () => entry)
    await db.acrossTenants(async (tx) => appendAll(tx, SYSTEM, added))
    await sealAll(service)
  }

  /** Returns the head of the platform's log as superadmins see it. */
  async function platform() {
    const { body } = await service.call('GET', '/api/admin/audit/heads', { token: root.token })
    const item = body.items.find(({ tenant_id }: { tenant_id: number }) => tenant_id === 0)
    const witnesses: WitnessItem[] = item.witnesses
    return { key: body.key as string, size: item.size, checkpoint: item.checkpoint, witnesses }
  }

  return {
    service,
    root,
    one,
    two,
    sql,
    grow,
    platform,
    states: async () => (await platform()).witnesses,
    failures: async () => (await platform()).witnesses.map(({ failure }) => failure),
    /** The warnings and errors since the last reset. */
    logged,
    deps: { db, log, clock: service.clock, heads },
    commands: auditCommands(deps),

    /** Submits the newest head, by default to both witnesses. */
    async submit(...given: WitnessServer[]): Promise<void> {
      const targets = given.length > 0 ? given : [one, two]
      const { signal } = new AbortController()
      const clock = service.clock
      await submitHead({ db, log, clock, heads, targets, signal })
    },

    /** Deletes the states in the database, adds entries, and lets the witnesses behave and trust the log. */
    async reset(): Promise<void> {
      logged.length = 0
      await sql('delete from audit_witnesses')
      await grow()
      const trusted = readVerifierKey((await platform()).key)
      if (!trusted) throw new Error('no key')
      for (const witness of [one, two])
        Object.assign(witness, { trusted: [trusted], requests: [], misbehave: undefined })
    },
  }
}
