/** Backups that the list promises and that are of no use: their file is gone, not as it was written, or out of reach. */
import type { Time } from '../../../lib/time.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Fix } from '../../../platform/fix.ts'
import { idIn } from '../../../platform/subject.ts'
import { UNREAD } from '../drill/drill.store.ts'
import { fileName } from '../file/names.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import { fail } from './fail.ts'
import * as entries from './fixes.store.ts'
import { listed } from './listed.ts'

const PLAN =
  'Marks the backup as failed, with an entry in the journal: the list and BACKUP_KEEP count on it no more, ' +
  'and it goes with the other failed ones a week after it was made. Make another one by ' +
  '`wardkeep backup create`.'

export function missing({ store, clock }: { store: Store; clock: Time }): Fix {
  return {
    key: 'backups.missing',
    title: 'The file of a backup is gone',
    description:
      'The list shows a backup as completed, and the store has no file of it: somebody has deleted or ' +
      'moved it. On the day of need it would not be there.',
    severity: 'high',
    automatic: false,
    plan: `${PLAN} Where the store itself is away, such as a folder that is not mounted, bring it back first.`,
    runbook: 'backups.md',
    async detect(tx) {
      const known = await entries.listEntries(tx)
      const names = new Set((await listed(store, clock)).map(({ name }) => name))
      const isGone = ({ id, rewritten_at }: entries.Entry) => !names.has(fileName(id, rewritten_at))
      const gone = known.filter(isGone).map(({ id }) => id)
      // One that was deleted, or written anew, while the store was asked is none.
      const left = gone.length > 0 ? (await entries.listEntries(tx, gone)).filter(isGone) : []
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
        throw new Error(`the store holds no file at all: see that ${store.place} is there`)
      const [entry] = await repairing((tx) => entries.listEntries(tx, [id]))
      if (!entry || (await hasFile(store, entry))) return 'already gone'
      return repairing((tx) => fail(tx, id, ['completed'], 'Its file is gone'))
    },
  }
}

async function hasFile(store: Store, { id, rewritten_at }: entries.Entry): Promise<boolean> {
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
  title: 'The file of a backup is not as it was written',
  description:
    'A backup was read again to its end, as one is every few hours, and its checksum was another, or it ' +
    'did not open. Nothing can be restored from it.',
  severity: 'high',
  automatic: false,
  plan: `${PLAN} Where the disk is at fault, look after that first.`,
  runbook: 'backups.md',
  detect: (tx) => faulty(tx, (fault) => fault !== UNREAD.fault),
  async repair(finding, repairing) {
    const id = idIn(finding)
    const still = await repairing((tx) => entries.listEntries(tx, [id]))
    const fault = still[0]?.fault ?? null
    if (fault === null || fault === UNREAD.fault) return 'already gone'
    return repairing((tx) => fail(tx, id, ['completed'], fault))
  },
}

export const UNREADABLE: Fix = {
  key: 'backups.unreadable',
  title: 'The store does not hand a backup out',
  description:
    'A backup was to be read again, as one is every few hours, and the store, which answers otherwise, ' +
    'refused its file or broke off. It may be whole, and nothing can be restored from it as it is.',
  severity: 'high',
  automatic: false,
  plan:
    'Nothing by itself: a backup that is only out of reach is not given up. Let the store hand it out ' +
    '(an archived object is fetched back, a file is for the account of the service to read), then ' +
    '`wardkeep backup verify ID`.',
  runbook: 'backups.md',
  detect: (tx) => faulty(tx, (fault) => fault === UNREAD.fault),
}

/** What is wrong with backups, as it was when they were last read. */
async function faulty(
  tx: TenantTx,
  isMeant: (fault: string) => boolean,
): Promise<Awaited<ReturnType<Fix['detect']>>> {
  const known = await entries.listEntries(tx)
  return {
    findings: known
      .filter(({ fault }) => fault !== null && isMeant(fault))
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
