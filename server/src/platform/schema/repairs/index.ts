/** The self-healing fixes for the schema and the sequences of the database. */

import type { PgConnection } from '../../db/connection.ts'
import type { Fix } from '../../feature/fix.ts'
import { type GroundDeps, openGround } from './ground.ts'
import { indexes } from './indexes.ts'
import { partitionsAhead } from './partitions.ts'
import { rowSecurity } from './row-security.ts'
import { differingSafeguardsIn, schemaDifferences } from './schema-differences.ts'
import { sequences } from './sequences.ts'

/**
 * Returns the names of row security settings, grants, triggers and functions that differ from the release's schema.
 * Returns an empty list if the database has another schema version. The connection must be in a transaction, whose
 * search path is set to `public`.
 */
export type DifferingSafeguards = (client: PgConnection) => Promise<string[]>

export function differingSafeguards(core: GroundDeps): DifferingSafeguards {
  const ground = openGround(core)
  return (client) =>
    differingSafeguardsIn(ground, async (text, values) => {
      const { rows } = await client.query(text, values && [...values])
      return rows
    })
}

export function databaseFixes(core: GroundDeps): Fix[] {
  const ground = openGround(core)
  return [rowSecurity, indexes, schemaDifferences, partitionsAhead, sequences].map((fix) =>
    fix(ground),
  )
}
