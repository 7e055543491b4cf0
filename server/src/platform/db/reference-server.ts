/** Tracks the only server whose data this node uses, and checks each new server before using it (decision 0035). */
import type { Time } from '../../lib/time.ts'
import type { ServerIdentity } from './first-message.ts'
import { watchTimelines } from './timelines.ts'
import type { VerifiedClient } from './verified-client.ts'

export interface ServerCheck {
  isNeeded(server: ServerIdentity): boolean
  /** Runs the check. @throws if the server must not be used now */
  run(connection: VerifiedClient): Promise<void>
}

export interface ReferenceServer {
  /**
   * The server that this node uses. Undefined before the first server. Null during a check, when no server may
   * acknowledge a commit.
   */
  current(): ServerIdentity | null | undefined
  /** Registers the check that a new server must pass before this node uses it. */
  checkServers(check: ServerCheck): void
  /** Checks the timeline of the server. @throws ServerRefused if the server is a former primary */
  require(server: ServerIdentity): void
  /**
   * Checks the server if needed, and then uses it at once, so that no other server acknowledges changes after the
   * check.
   */
  check(connection: VerifiedClient): Promise<void>
  use(server: ServerIdentity): void
}

export function openReferenceServer(clock: Pick<Time, 'monotonic'>): ReferenceServer {
  const timelines = watchTimelines(clock)
  let server: ServerIdentity | undefined
  let needed: ServerCheck | undefined
  let checking = 0
  return {
    current: () => (checking > 0 ? null : server),
    checkServers(check) {
      needed = check
    },
    require: timelines.require,
    async check(connection) {
      const found = connection.introduction.server
      if (!needed?.isNeeded(found)) return
      checking += 1
      try {
        await needed.run(connection)
        server = found
      } finally {
        checking -= 1
      }
    },
    use(found) {
      server = found
      timelines.use(found)
    },
  }
}
