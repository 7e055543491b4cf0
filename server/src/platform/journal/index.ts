/** The one journal: append to it, follow it. */
export type { Action } from './actions.ts'
export { type Actor, actorOf, append, changesBetween, type Entry, SYSTEM } from './append.ts'
export { type Follower, follow, type JournalEntry, type ReaderOptions, readOn } from './follow.ts'
export { ensurePartitions, keepPartitionsAhead } from './partitions.ts'
