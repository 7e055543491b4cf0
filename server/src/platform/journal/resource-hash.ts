import { type RawBuilder, sql } from 'kysely'

/** The hash of a resource's id, computed in the same way as the column `resource_hash`. Its index finds the entries. */
export const resourceHash = (id: RawBuilder<unknown>) =>
  sql<number>`('x' || left(md5(${id}), 8))::bit(32)::integer`
