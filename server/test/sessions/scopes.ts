/** Database scopes without a service, for tests that read and write through them. */
import { onTestFinished } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { alone, openScopes, type Scopes } from '../../src/platform/db/index.ts'
import { atTheEnd } from '../support/cleanup.ts'
import type { TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'

/** The changes of a process without other nodes. No other node caches data, so none has to be notified. */
export const unheard = alone

/** Opens database scopes like those of a node. They are closed with the test or its file. */
export function scopesOf(database: TestDatabase, size = 20): Scopes {
  const db = openScopes(database.address, {
    clock: systemTime,
    size,
    changes: unheard,
    log: silentLog,
  })
  atTheEnd(() => db.close())
  return db
}

export interface Gate {
  /** Resolves once the gate is open. */
  pass: Promise<void>
  open(): void
}

/**
 * Creates a gate that the test opens. At the end of the test the gate opens automatically, so that no caller keeps
 * waiting.
 */
export function gate(): Gate {
  let open = (): void => undefined
  const pass = new Promise<void>((resolve) => {
    open = resolve
  })
  onTestFinished(() => open())
  return { pass, open }
}
