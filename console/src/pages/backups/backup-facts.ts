/** Derives what the pages show about a backup from its fields. */
import type { Schemas } from '../../api/client.ts'
import type { Sort } from '../../parts/data-table/types.ts'

/** A backup as the API returns it. */
export type Backup = Schemas['Backup']

const DAY_MS = 24 * 60 * 60 * 1000
/** Safety backups are kept at least this long. */
const SAFETY_KEPT_DAYS = 7

/** Returns the state of a backup. A completed one that a test restored is `tested`. */
export function stateOf({ status, error, drill_seconds }: Backup): string {
  if (status !== 'completed') return status
  if (error !== null) return 'failed'
  return drill_seconds === null ? 'completed' : 'tested'
}

/** True if the backup can be read: restored, tested and downloaded. */
export const isUsable = ({ status }: Backup): boolean => status === 'completed'

/** Returns the time until which no retention deletes a backup. Returns undefined if it may be deleted at any time. */
export function keptUntil({ reason, created_at, locked_until }: Backup): string | undefined {
  const safety =
    reason === 'safety' ? Date.parse(created_at) + SAFETY_KEPT_DAYS * DAY_MS : undefined
  const locked = locked_until === null ? undefined : Date.parse(locked_until)
  const latest = Math.max(safety ?? 0, locked ?? 0)
  return latest === 0 ? undefined : new Date(latest).toISOString()
}

/** The proof that a clinic can be restored from a backup. */
export type Proof = Pick<
  Backup,
  'type' | 'created_at' | 'verified_at' | 'drill_seconds' | 'tested_at'
>

/** The backups of a clinic as the API lists them. */
interface ListedBackups {
  readonly items: readonly Backup[]
  /** The proof by a backup of all clinics, for readers whose list contains none. */
  readonly full_backup: Omit<Proof, 'type'> | null
}

/**
 * Returns what is proven for a clinic: the newest backup that a test restored, and the newest verified one if it is
 * newer. A backup of all clinics counts if it was made after the clinic was added.
 * @param addedAt undefined while unknown, so that no listed backup of all clinics counts
 */
export function proofsOf({ items, full_backup }: ListedBackups, addedAt?: string): Proof[] {
  const contains = ({ type, created_at }: Backup) =>
    type !== 'full' || (addedAt !== undefined && Date.parse(created_at) >= Date.parse(addedAt))
  const proofs: readonly Proof[] = [
    ...items.filter((backup) => isUsable(backup) && backup.error === null && contains(backup)),
    ...(full_backup === null ? [] : [{ ...full_backup, type: 'full' as const }]),
  ].toSorted((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at))
  const tested = proofs.find(({ drill_seconds }) => drill_seconds !== null)
  const verified = proofs.find(({ verified_at }) => verified_at !== null)
  return [tested, verified === tested ? undefined : verified].filter((proof) => proof !== undefined)
}

/** Sorts backups by time or size. */
export function sortBackups(backups: readonly Backup[], { column, direction }: Sort): Backup[] {
  const keyOf = (backup: Backup) =>
    column === 'size_bytes' ? (backup.size_bytes ?? -1) : Date.parse(backup.created_at)
  const sign = direction === 'asc' ? 1 : -1
  return backups.toSorted((one, other) => sign * (keyOf(one) - keyOf(other)))
}

/** Returns the short name of a backup, which a person types to confirm. */
export const shortId = ({ backup_id }: Pick<Backup, 'backup_id'>): string => backup_id.slice(0, 8)
