/** Tracks whether users can sign in to a demo clinic. Checks again after every change of a tenant. */
import { type Changes, parseTopic, type Scopes } from '../../platform/db/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { hasDemo } from './demo.store.ts'

export interface DemoState {
  isThere(): boolean
  refresh(): Promise<void>
  stop(): void
}

export function openDemoState(deps: {
  db: Scopes
  changes: Pick<Changes, 'subscribe'>
  log: Logger
}): DemoState {
  let isThere = false
  let checks = 0
  let last = 0
  const refresh = async () => {
    checks += 1
    const number = checks
    const found = await deps.db.acrossTenants(hasDemo, 'read')
    // Ignores an outdated result. A check that started later has already finished.
    if (number < last) return
    last = number
    isThere = found
  }
  const stop = deps.changes.subscribe((topic) => {
    if (topic === null || parseTopic(topic).kind === 'tenant')
      void canFail(refresh(), 'check for the demo clinic', deps.log)
  })
  return { isThere: () => isThere, refresh, stop }
}
