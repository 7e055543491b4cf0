import { createSecretKey, type KeyObject } from 'node:crypto'

/** The key with which journal entries are marked. Transactions carry it, because each entry needs a mark. */
export interface EntryKey {
  /** Undefined until the root key has been read. Entries are then written without marks. */
  readonly current: KeyObject | undefined
  use(key: Uint8Array): void
}

export function entryKey(): EntryKey {
  let current: KeyObject | undefined
  return {
    get current() {
      return current
    },
    use(key) {
      current = createSecretKey(key)
    },
  }
}
