/** The committed checksums of migrations. A migration cannot change after its first commit. */
import { readFile } from 'node:fs/promises'
import { type Migration, readMigrations } from '../../server/src/platform/schema/migrate.ts'

export const CHECKSUMS = new URL('../../server/migrations/checksums.txt', import.meta.url)

/** Returns the line of a migration, as `sha256sum` writes it. */
export const checksumLine = ({ checksum, name }: Migration): string => `${checksum}  ${name}\n`

/** Returns the committed lines unchanged, and adds a line for each new migration. */
export async function frozenChecksums(): Promise<string> {
  const committed = await readFile(CHECKSUMS, 'utf8').catch(() => '')
  const added = (await readMigrations()).filter(({ name }) => !committed.includes(`  ${name}\n`))
  return committed + added.map(checksumLine).join('')
}
