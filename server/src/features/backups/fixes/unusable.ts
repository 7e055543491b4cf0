/** The self-healing checks that find completed backups whose file is missing or damaged. */
import type { Time } from '../../../lib/time.ts'
import { within } from '../../../lib/within.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Detected, type Fix, idIn } from '../../../platform/feature/fix.ts'
import { UNREAD } from '../drill/drill.store.ts'
import { fileName } from '../file/names.ts'
import { NotStoredError, type Store, type StoredObject } from '../stores/store.ts'
import { fail } from './fail-backup.ts'
import * as entries from './fixes.store.ts'

/** Leaves enough time for the other work of the detector, which must finish within ten seconds. */
const LIST_WITHIN_MS = 7_000

const PLAN =
  'Marks the backup as failed and writes an audit log entry. The backup then no longer counts for BACKUP_KEEP, ' +
  'and is deleted a week after it was created. Create another one with ' +
  '`wardkeep backup create`.'

export function missing({ store, clock }: { store: Store; clock: Time }): Fix {
  return {
    key: 'backups.missing',
    title: 'The file of a backup is missing',
    description:
      'The list shows a backup as completed, but the store has no file for it, because it was deleted or ' +
      'moved. The backup cannot be restored.',
    severity: 'high',
    automatic: false,
    plan: `${PLAN} If the store itself is not available, for example because a folder is not mounted, restore access to it first.`,
    runbook: 'backups.md',
    async detect(tx) {
      const known = await entries.listBackupEntries(tx)
      const names = new Set((await listed(store, clock)).map(({ name }) => name))
      const isGone = ({ id, rewritten_at }: entries.BackupEntry) =>
        !names.has(fileName(id, rewritten_at))
      const gone = known.filter(isGone).map(({ id }) => id)
      // Excludes backups that were deleted or rewritten after the store was listed.
      const left = gone.length > 0 ? (await entries.listBackupEntries(tx, gone)).filter(isGone) : []
      return {
        findings: left.map(({ id, tenant_id, type, created_at, size_bytes }) => ({
          tenant_id,
          subject: `backup ${id}`,
          measured: { file: 'gone', type, made_at: created_at },
          expected: { file: 'there', size_bytes },
        })),
        looked_at: known.length,
      }
    },
    async repair(finding, repairing) {
      const id = idIn(finding)
      if ((await listed(store, clock)).length === 0)
        throw new Error(`the store has no files at all. Check that ${store.place} is available`)
      const [entry] = await repairing((tx) => entries.listBackupEntries(tx, [id]))
      if (!entry || (await hasFile(store, entry))) return 'already gone'
      return repairing((tx) => fail(tx, id, ['completed'], 'The file of the backup is missing'))
    },
  }
}

async function hasFile(store: Store, { id, rewritten_at }: entries.BackupEntry): Promise<boolean> {
  try {
    await store.size(fileName(id, rewritten_at))
    return true
  } catch (error) {
    if (error instanceof NotStoredError) return false
    throw error
  }
}

export const DAMAGED: Fix = {
  key: 'backups.damaged',
  title: 'The file of a backup is damaged',
  description:
    'One backup is verified every few hours. The checksum of this one was different, or it could ' +
    'not be decrypted. It cannot be restored.',
  severity: 'high',
  automatic: false,
  plan: `${PLAN} If the disk is damaged, repair or replace it first.`,
  runbook: 'backups.md',
  detect: faulty,
  async repair(finding, repairing) {
    const id = idIn(finding)
    const still = await repairing((tx) => entries.listBackupEntries(tx, [id]))
    const fault = still[0]?.fault ?? null
    if (fault === null || fault === UNREAD.fault) return 'already gone'
    return repairing((tx) => fail(tx, id, ['completed'], fault))
  },
}

/**
 * Returns a finding for each backup whose last verification failed. Excludes backups that the store could not return,
 * because their files may be intact.
 */
async function faulty(tx: TenantTx): Promise<Detected> {
  const known = await entries.listBackupEntries(tx)
  return {
    findings: known
      .filter(({ fault }) => fault !== null && fault !== UNREAD.fault)
      .map(({ id, tenant_id, type, created_at, fault, checked_at }) => ({
        tenant_id,
        subject: `backup ${id}`,
        measured: { fault, type, made_at: created_at },
        expected: { fault: null },
        ...(checked_at === null ? {} : { since: checked_at }),
      })),
    looked_at: known.length,
  }
}

/** Lists the objects in the store. @throws Error if the store does not respond in time */
export async function listed(store: Store, clock: Time): Promise<StoredObject[]> {
  const listing = store.list()
  if (!(await within(clock, LIST_WITHIN_MS, listing)))
    throw new Error(`the backup store did not list its files within ${LIST_WITHIN_MS / 1000} s`)
  return listing
}
