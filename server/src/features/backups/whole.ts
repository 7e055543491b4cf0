/** What can be read: backups that are whole. */
import { Problem } from '../../lib/problems.ts'
import type { Backup } from './backups.schema.ts'

/** @throws Problem 404 for a backup that is not whole */
export function requireWhole({ status }: Pick<Backup, 'status'>): void {
  if (status !== 'completed')
    throw new Problem('not_found', {
      detail:
        'The backup is not whole: it is still made, or has failed; see its status in the list',
    })
}
