/**
 * Download tickets: links with which a browser downloads a file itself, because only then it shows the progress and
 * resumes an interrupted download. A browser cannot send the access token with such a request.
 */
import { type Clock, HOUR, isoAt, MINUTE } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import {
  type Admin,
  admins,
  type Caller,
  type Identity,
  type Origin,
} from '../../../platform/access/index.ts'
import { newToken, parseToken } from '../../../platform/crypto/index.ts'
import { forCaller, type Scopes } from '../../../platform/db/index.ts'
import { purgeOutdated } from '../../../platform/feature/outdated.ts'
import { actorOf, ordererOf, requireSession } from '../../../platform/journal/index.ts'
import type { Upkeep } from '../../../platform/lifecycle/upkeep.ts'
import { appendBackupEvent } from '../backups.journal.ts'
import type { DownloadOrder, DownloadTicket } from '../backups.schema.ts'
import type { ByteRange } from '../stores/store.ts'
import type { BackupFiles, FindBackup } from './files.ts'
import * as store from './tickets.store.ts'

const VALID_FOR = MINUTE
/** How long an interrupted download can continue after its start. Large files take longer than `VALID_FOR`. */
const RESUMABLE_FOR = 15 * MINUTE
/** Limits how often a leaked link returns the rest of the file. */
const MOST_RESUMPTIONS = 20
const PATH = '/api/admin/downloads/'

/** Returns the identity of a live session of the user. @throws Problem 401 for an ended session */
export type IdentifySession = (session: {
  tenantId: number
  userId: number
  jti: string
}) => Promise<Identity> | Identity

export interface TicketDeps {
  db: Scopes
  clock: Clock
  find: FindBackup
  files: BackupFiles
  identify: IdentifySession
}

export type DownloadTickets = ReturnType<typeof downloadTickets>

export function downloadTickets({ db, clock, find, files, identify }: TicketDeps) {
  /** Returns the owner of a ticket with their current rights; undefined if the session or the rights have ended. */
  async function ownerOf(
    tenantId: number,
    { user_id, session_id }: store.Ticket,
    origin: Origin,
  ): Promise<Admin | undefined> {
    try {
      const identity = await identify({ tenantId, userId: user_id, jti: session_id })
      const caller: Caller = { ...identity, origin }
      return isAdmin(caller) && identity.restriction === null ? caller : undefined
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid_token') return undefined
      throw error
    }
  }

  return {
    /**
     * Creates a ticket for the caller's session and address.
     * @throws Problem 404 for an unknown or incomplete backup, 503 without its file or store
     */
    async create(caller: Admin, { backup_id }: DownloadOrder): Promise<DownloadTicket> {
      await files.fileOf(caller, await find(caller, backup_id))
      const { tenant_id, user_id, session_id, origin } = caller
      const { text, hash } = newToken(tenant_id)
      const expires_at = isoAt(clock, VALID_FOR)
      const ticket = { token_hash: hash, tenant_id, user_id, session_id, backup_id, expires_at }
      await db.inTenant(tenant_id, async (tx) => {
        requireSession(tx, actorOf(caller))
        await store.insertTicket(tx, { ...ticket, ip: origin.ip })
      })
      return { url: `${PATH}${text}`, expires_at }
    },

    /**
     * Returns the file of a ticket. Reading it uses the ticket up, except for a later part of the file.
     * @throws Problem 404 unless the ticket is valid for this address, 503 without the file or its store
     */
    async open(text: string, origin: Origin) {
      const token = parseToken(text)
      if (!token) throw expired()
      const { hash, tenantId } = token
      const ticket = await db.inTenant(
        tenantId,
        (tx) => store.findTicket(tx, hash, isoAt(clock)),
        'read',
      )
      if (ticket?.ip !== origin.ip) throw expired()
      const caller = await ownerOf(tenantId, ticket, origin)
      if (!caller) throw expired()
      const backup = await find(caller, ticket.backup_id)
      const file = await files.fileOf(caller, backup)

      /** Uses the ticket up. Returns false if an earlier request did so. */
      const begin = () =>
        forCaller(db, caller, async (tx) => {
          const until = isoAt(clock, RESUMABLE_FOR)
          if (!(await store.useTicket(tx, hash, isoAt(clock), until))) return false
          const event = { ...backup, id: backup.backup_id }
          await appendBackupEvent(tx, ordererOf(actorOf(caller)), 'backup.downloaded', event)
          return true
        })
      const resume = () =>
        db.inTenant(tenantId, (tx) => store.resumeTicket(tx, hash, isoAt(clock), MOST_RESUMPTIONS))
      return {
        ...file,
        async *open(range?: ByteRange) {
          const isResumed = range !== undefined && range.start > 0
          if (!(await begin()) && !(isResumed && (await resume()))) throw expired()
          yield* file.open(range)
        },
      }
    },
  }
}

const isAdmin = (caller: Caller): caller is Admin => admins.roles?.includes(caller.role) === true

const expired = (): Problem =>
  new Problem('not_found', {
    detail: 'This download link has expired or was already used. Start the download again.',
  })

/** The upkeep that deletes expired tickets. */
export const ticketUpkeep = (db: Scopes): Upkeep => ({
  what: 'deletion of expired download tickets',
  everyMs: HOUR,
  isNeededToServe: false,
  run: async () =>
    purgeOutdated(
      { db, clock: await db.agreedClock.read() },
      [store.OUTDATED_TICKETS],
      new AbortController().signal,
    ),
})
