/** Where backups lie: a folder or an object store, behind one interface. */

/** There is no such object in the store. */
export class NotStoredError extends Error {}

/** There is too little room; the message says how much, for the operator. */
export class NoRoomError extends Error {}

/** The store cannot be reached, or refuses. The message says why, for the operator: no credentials. */
export class StoreError extends Error {}

/** Bytes of an object, both inclusive, counted from 0. */
export interface ByteRange {
  start: number
  end: number
}

export interface StoredObject {
  name: string
  /** When it was written last, in milliseconds since the Unix epoch. */
  writtenAt: number
}

export interface Store {
  /** Where it is, for people: no credentials. */
  readonly place: string
  /**
   * Keeps what the source yields under the name: whole and durable once it resolves, and not at all where
   * it fails or the process dies. What the name held before gives way to it, at once.
   * @throws NoRoomError before the disk is full
   */
  write(name: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>
  /** @throws NotStoredError, also once it is read */
  read(name: string, range?: ByteRange): AsyncIterable<Uint8Array>
  /** The bytes of an object. @throws NotStoredError */
  size(name: string): Promise<number>
  /** Forgets an object. Returns whether it is gone: not where the store keeps it until its lock ends. */
  delete(name: string): Promise<boolean>
  /** Until when an object can't be deleted, in ISO 8601; null where no lock is known. */
  lockedUntil(name: string): Promise<string | null>
  /** All objects that are whole. */
  list(): Promise<StoredObject[]>
  /** Deletes what writers that died have left of an object. */
  discard(name: string): Promise<void>
  /** As `discard`, of any object, where nothing was written since the instant. */
  sweep(before: number): Promise<void>
  /** @throws NoRoomError where so many bytes do not fit */
  requireRoom(bytes: number): Promise<void>
}

/** A store with what it has opened. */
export interface OpenStore extends Store {
  /** Asks once, and not for long, whether it can be used. @throws StoreError that says why not */
  check(): Promise<void>
  close(): Promise<void>
}
