/** Checks that a backup is completed and can therefore be read. */
import { Problem } from '../../lib/problems.ts'
import type { Backup } from './backups.schema.ts'

/** @throws Problem 404 if the backup is not completed */
export function requireWhole({ status }: Pick<Backup, 'status'>): void {
  if (status !== 'completed')
    throw new Problem('not_found', {
      detail:
        'The backup is not completed: it is still being created, or it failed. Check its status in the list.',
    })
}
