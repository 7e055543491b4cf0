/** Whether there is a demo clinic that people can sign in to: as last seen, and looked for again when a tenant changes. */
import { type Changes, parseTopic, type Scopes } from '../../platform/db/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { hasDemo } from './demo.store.ts'

export interface DemoStanding {
  isThere(): boolean
  look(): Promise<void>
  stop(): void
}

export function openDemoStanding(deps: {
  db: Scopes
  changes: Pick<Changes, 'subscribe'>
  log: Logger
}): DemoStanding {
  let isThere = false
  let looks = 0
  let last = 0
  const look = async () => {
    looks += 1
    const number = looks
    const found = await deps.db.acrossTenants(hasDemo, 'read')
    // One that began later knows better, whichever ends first.
    if (number < last) return
    last = number
    isThere = found
  }
  const stop = deps.changes.subscribe((topic) => {
    if (topic === null || parseTopic(topic).kind === 'tenant')
      void canFail(look(), 'looking for the demo clinic', deps.log)
  })
  return { isThere: () => isThere, look, stop }
}
