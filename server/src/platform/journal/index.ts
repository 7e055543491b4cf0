export { ACTION_GROUPS, type ActionGroup, groupOf, resourceTypeOf } from './action-groups.ts'
export { ACTIONS, type Action, isPublic, PUBLIC_ACTIONS, type PublicAction } from './actions.ts'
export {
  type Actor,
  actorOf,
  append,
  appendAll,
  appendOn,
  appendReturning,
  type EntryRow,
  enterActions,
  insertion,
  JOURNAL_TOPIC,
  journalEntry,
  type NewEntry,
  ordererOf,
  requireSession,
  rowOf,
  SYSTEM,
} from './append.ts'
export { changesBetween, differing } from './changes-between.ts'
export { type ConsumerOptions, consume, type JournalEntry, readOwn } from './consumer.ts'
export { openReaders, type Readers } from './consumers.ts'
export { type Follower, type FollowOptions, follow } from './follow.ts'
export { forward, type NumberedEntry, type Receiver, ReceiverFault } from './forward.ts'
export { type ForwardSince, type ForwardState, findForwardState } from './forwarders.store.ts'
export { JOURNAL_TABLES } from './journal.table.ts'
export { type LostWrites, openLostWrites } from './lost-writes.ts'
export {
  type Commitments,
  commitmentsOf,
  isMarkedBy,
  MARK_COLUMNS,
  type MarkedColumns,
  newSalts,
  SALT_BYTES,
  type Salts,
  type WhoFields,
  whatCommitment,
  whoCommitment,
} from './marks.ts'
export { partitionsUpkeep } from './partitions.ts'
export { openReadJournal, type ReadEntry, type ReadJournal } from './read-journal.ts'
export { openRefusals, type Refusals, writeVisibleRefusals } from './refusals.ts'
export { resourceHash } from './resource-hash.ts'
