/** A connection that opens only if the server passes the checks of the first message. */
import type pg from 'pg'
import { withDeadline } from './deadline.ts'
import { markFailure } from './failures.ts'
import {
  type Introduction,
  introduce,
  type ServerIdentity,
  type SessionSettings,
} from './first-message.ts'
import { HostClient, type HostClientConfig, hangUp } from './hosts.ts'

/** The time limit for opening a connection or a transaction. After this time, the database counts as unavailable. */
export const AWAY_MS = 5_000

export interface VerifiedClientConfig extends HostClientConfig {
  settings: SessionSettings
  /** Whether a standby or a read-only server is acceptable. */
  acceptsReadOnly?: boolean
}

/**
 * Sends the first message as part of `connect`, for pools and single connections. A lost connection never ends the
 * process; its next query fails.
 */
export class VerifiedClient extends HostClient {
  readonly #config: VerifiedClientConfig
  #introduction: Introduction | undefined

  constructor(config: VerifiedClientConfig) {
    super(config)
    this.#config = config
    this.on('error', markFailure)
  }

  /** The server's response to the first message. @throws Error if the connection is not open */
  get introduction(): Introduction {
    if (!this.#introduction) throw new Error('the connection is not open')
    return this.#introduction
  }

  protected override async open(): Promise<pg.Client> {
    try {
      await super.open()
      this.#introduction = await withDeadline(introduce(this, this.#config), AWAY_MS)
      return this
    } catch (error) {
      // Calls `end` first, so that the pool does not report a lost connection.
      void this.end()
      hangUp(this)
      throw markFailure(error)
    }
  }
}

/** Returns the identity of the server of an open connection. */
export const serverOf = (client: pg.Client | pg.PoolClient): ServerIdentity =>
  (client as pg.Client as VerifiedClient).introduction.server

/** Closes a connection within 5 s, even if its server is unresponsive. */
export async function closeClient(client: pg.Client): Promise<void> {
  await withDeadline(client.end(), AWAY_MS).catch(() => undefined)
  hangUp(client)
}
