export { listWritesUpkeep } from '../lists/list-writes.ts'
export { containsName, countRows, listMode, partOf, readPage } from '../lists/page.ts'
export { foldsNames } from '../schema/fold-names.ts'
export type { AgreedClock } from './agreed-clock.ts'
export { byteaArray } from './bytea-array.ts'
export { alone, type Changes, watchChanges } from './changes.ts'
export { type CoherentCache, coherentCache } from './coherent-cache.ts'
export {
  APP_ROLE,
  type DatabaseAddress,
  ownerClient,
  type PgConnection,
  PLATFORM_ROLE,
} from './connection.ts'
export { copyOut } from './copy-out.ts'
export type { Database } from './database.ts'
export { withDeadline } from './deadline.ts'
export { type EntryKey, entryKey } from './entry-key.ts'
export {
  type Conflicts,
  isDatabaseFailure,
  isPassing,
  isResting,
  isUnwritable,
  Outpaced,
  problemOf,
} from './failures.ts'
export { recordTopics } from './invalidations.ts'
export { type LockConnection, openLockConnection } from './lock-connection.ts'
export { LOCKS } from './lock-numbers.ts'
export { limitLockWaits, limitStatements, lockUntilEnd, tryLockUntilEnd } from './locks.ts'
export { logFailures } from './log-failures.ts'
export { type LongReader, openLongReader } from './long-reader.ts'
export { EVERY_TENANT } from './maintenance.ts'
export { CHANNEL } from './notifier.ts'
export { invalidationsUpkeep } from './old-invalidations.ts'
export { type Outage, watchOutages } from './outage.ts'
export { inOwnTransaction } from './own-transaction.ts'
export { openPacer, type Pacer } from './pacer.ts'
export { type PurgeRows, purgerOf } from './purge.ts'
export {
  MAX_RECENT,
  type RecentEntries,
  type RecentEntry,
  recentEntries,
} from './recent-entries.ts'
export { openReplica, type Replica } from './replica.ts'
export type { RequireAvailable } from './require-available.ts'
export {
  forCaller,
  inScope,
  ofInstallation,
  ofScope,
  openScopes,
  type Scope,
  type Scopes,
  scopeOf,
} from './scope.ts'
export { watchDatabaseSilence } from './silence.ts'
export { statement, type ValueOf } from './statements.ts'
export { parseTopic, type Topic } from './topics.ts'
export type { ListMode, Scoped, SentStatement, TenantTx } from './transaction.ts'
export type { VerifiedClient } from './verified-client.ts'
