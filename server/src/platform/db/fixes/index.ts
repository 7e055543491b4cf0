/** The faults of the database itself, as fixes. */
import type { Fix } from '../../fix.ts'
import type { Connection } from '../connection.ts'
import { functions, grants, rowSecurity, SAFEGUARDS, triggers } from './access.ts'
import { collations } from './collations.ts'
import { differing } from './drift.ts'
import { type GroundDeps, openGround } from './ground.ts'
import { indexes } from './indexes.ts'
import { partitionSecurity, partitionsAhead } from './partitions.ts'
import { roles } from './roles.ts'
import { sequences } from './sequences.ts'
import { constraints, surplus, tables } from './structure.ts'

/**
 * Which row security, grants, triggers and functions are not as a fresh migration makes them, by name; none on a
 * database of another release's schema. Within a transaction of the connection: its search path is `public` from then on.
 */
export type DifferingSafeguards = (client: Connection) => Promise<string[]>

export function differingSafeguards(core: GroundDeps): DifferingSafeguards {
  const ground = openGround(core)
  return (client) =>
    differing(ground, SAFEGUARDS, async (text, values) => {
      const { rows } = await client.query(text, values && [...values])
      return rows
    })
}

/** @param core opens connections as the owner of the tables, which repairs need */
export function databaseFixes(core: GroundDeps): Fix[] {
  const ground = openGround(core)
  return [
    rowSecurity,
    grants,
    roles,
    triggers,
    functions,
    indexes,
    tables,
    constraints,
    surplus,
    partitionsAhead,
    partitionSecurity,
    sequences,
    collations,
  ].map((fix) => fix(ground))
}
