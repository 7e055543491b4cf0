/** The interface of a backup store, which is a folder or an object store. */

/** Thrown when the store has no object with the requested name. */
export class NotStoredError extends Error {}

/** Thrown when the store has too little free space. The message tells the operator the sizes. */
export class NoRoomError extends Error {}

/** Thrown when the store is unreachable or rejects a request. The message states the cause, without credentials. */
export class StoreError extends Error {}

/** A range of bytes in an object, counted from 0. Both ends are inclusive. */
export interface ByteRange {
  start: number
  end: number
}

export interface StoredObject {
  name: string
  /** When the object was last written, in milliseconds since the Unix epoch. */
  writtenAt: number
}

export interface Store {
  /** The location of the store as shown to operators, without credentials. */
  readonly place: string
  /**
   * Writes an object, atomically replacing an existing one with the same name. When this resolves, the object is
   * complete and durable. After a failure or a crash, the store is unchanged.
   * @throws NoRoomError if too little disk space is left
   */
  write(name: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>
  /** Reads an object. @throws NotStoredError, in some stores only when the first bytes are read */
  read(name: string, range?: ByteRange): AsyncIterable<Uint8Array>
  /** Returns the size of an object in bytes. @throws NotStoredError if the object does not exist */
  size(name: string): Promise<number>
  /** Deletes an object. Returns true if the object no longer exists, or false if a lock prevented the deletion. */
  delete(name: string): Promise<boolean>
  /** Returns the end of an object's lock in ISO 8601; null if no lock is known. @throws NotStoredError */
  lockedUntil(name: string): Promise<string | null>
  /** Lists all objects that were written completely. */
  list(): Promise<StoredObject[]>
  /** Deletes partial data of one object that a crashed process left behind. */
  discard(name: string): Promise<void>
  /** Deletes partial data of all objects, except data written after this time in milliseconds. */
  sweep(before: number): Promise<void>
  /** Checks the free space. @throws NoRoomError if the store has no room for this many bytes */
  requireRoom(bytes: number): Promise<void>
}

/** A store whose connections must be closed after use. */
export interface OpenStore extends Store {
  /** Checks once, with a short time limit, whether the store is usable. @throws StoreError with the cause */
  check(): Promise<void>
  close(): Promise<void>
}
