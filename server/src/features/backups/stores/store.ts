/** Where backups lie: a folder or an object store, behind one interface. */

/** There is no such object in the store. */
export class NotStoredError extends Error {}

/** There is too little room; the message says how much, for the operator. */
export class NoRoomError extends Error {}

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
   * Keeps what the source yields under the name, which must be new: whole and durable once it resolves,
   * and not at all where it fails or the process dies.
   * @throws NoRoomError before the disk is full
   */
  write(name: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>
  /** @throws NotStoredError, also once it is read */
  read(name: string, range?: ByteRange): AsyncIterable<Uint8Array>
  /** The bytes of an object. @throws NotStoredError */
  size(name: string): Promise<number>
  /** Forgets an object; nothing where there is none. */
  delete(name: string): Promise<void>
  /** All objects that are whole. */
  list(): Promise<StoredObject[]>
  /** Deletes what writers that died have left of an object. */
  discard(name: string): Promise<void>
  /** As `discard`, of any object, where nothing was written since the instant. */
  sweep(before: number): Promise<void>
  /** @throws NoRoomError where so many bytes do not fit */
  requireRoom(bytes: number): Promise<void>
}
