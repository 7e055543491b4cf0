/** The faults of the database itself, as fixes. */
import type { Fix } from '../../fix.ts'
import type { Connection } from '../connection.ts'
import { functions, grants, rowSecurity, triggers } from './access.ts'
import { collations } from './collations.ts'
import { openGround } from './ground.ts'
import { indexes } from './indexes.ts'
import { partitionSecurity, partitionsAhead } from './partitions.ts'
import { roles } from './roles.ts'
import { sequences } from './sequences.ts'
import { constraints, surplus, tables } from './structure.ts'

/** @param core opens connections as the owner of the tables, which repairs need */
export function databaseFixes({ openConnection }: { openConnection(): Connection }): Fix[] {
  const ground = openGround(openConnection)
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
