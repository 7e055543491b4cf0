/** The scopes of a database by themselves, for tests of what is written and read through them. */
import { onTestFinished } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { alone, openScopes, type Scopes } from '../../src/platform/db/index.ts'
import { atTheEnd } from '../support/at-the-end.ts'
import type { TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'

/** Nobody else caches anything, so nobody is told of changes. */
export const unheard = alone

/** Opens the scopes as a node would; closed with the test or its file. */
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
  /** Passes once the gate is open. */
  pass: Promise<void>
  open(): void
}

/** Something to wait for until the test opens it; at its end nothing is left waiting. */
export function gate(): Gate {
  let open = (): void => undefined
  const pass = new Promise<void>((resolve) => {
    open = resolve
  })
  onTestFinished(() => open())
  return { pass, open }
}
