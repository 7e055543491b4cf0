/** The database's door for the features and the composition root. */

export type { AgreedClock } from './agreed-clock.ts'
export { byteaArray } from './bytea-array.ts'
export {
  alone,
  CHANNEL,
  type Changes,
  EVERY_TENANT,
  watchChanges,
} from './changes.ts'
export { type CoherentCache, coherentCache } from './coherent-cache.ts'
export {
  APP_ROLE,
  type Connection,
  type DatabaseAddress,
  ownerClient,
  PLATFORM_ROLE,
} from './connection.ts'
export { copyOut } from './copy-out.ts'
export type { Database } from './database.ts'
export { withDeadline } from './deadline.ts'
export {
  type Conflicts,
  isPassing,
  isResting,
  isUnwritable,
  Outpaced,
  problemOf,
} from './failures.ts'
export { foldsNames } from './fold-names.ts'
export { type Holder, openHolder } from './holder.ts'
export { listWritesUpkeep } from './list-writes.ts'
export { LOCKS } from './lock-numbers.ts'
export { lockUntilEnd, tryLockUntilEnd } from './locks.ts'
export { logFailures } from './log-failures.ts'
export { watchOthers } from './others.ts'
export { containsName, countRows, listMode, partOf, readPage } from './page.ts'
export { type PurgeRows, purgerOf } from './purge.ts'
export type { RequireOpen } from './require-open.ts'
export {
  forCaller,
  inScope,
  ofScope,
  openScopes,
  type Scope,
  type Scopes,
  scopeOf,
} from './scope.ts'
export { statement, type ValueOf } from './statements.ts'
export { parseTopic, type Topic } from './topics.ts'
export type { ListMode, Scoped, Sent, TenantTx } from './transaction.ts'
