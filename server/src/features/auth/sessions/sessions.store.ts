import { type RawBuilder, sql } from 'kysely'
import type { Caller, Restriction } from '../../../platform/access/index.ts'
import { type Scopes, statement, type TenantTx } from '../../../platform/db/index.ts'
import { type EntryRow, insertion, JOURNAL_TOPIC } from '../../../platform/journal/index.ts'
import { STATUS } from '../../users/index.ts'
import { idleMinutesOf } from '../console/idle.ts'
import { restrictionOf } from './restriction.ts'
import type { OwnProfile } from './sessions.schema.ts'
import './sessions.table.ts'

/** The state of a live session: the user's profile, the restriction, and whether the tenant is a demo. */
export interface SessionState {
  profile: Omit<OwnProfile, 'last_login_at'>
  is_demo: boolean
  restriction: Restriction | null
  /** When the session reaches its maximum lifetime, in milliseconds since the epoch. */
  ends_at: number
}

/**
 * Selects the session if it has not ended and its user and tenant are active. The session is read first: a plan that
 * was made while the tables were small may otherwise read all users of the tenant.
 */
const living = (tx: TenantTx, id: string) =>
  tx.db
    .with(
      (wc) => wc('session').materialized(),
      (db) =>
        db
          .selectFrom('sessions')
          .select(['id', 'user_id', 'tenant_id', 'absolute_expires_at'])
          .where('id', '=', id)
          .where('ended_at', 'is', null),
    )
    .selectFrom('session as sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .innerJoin('tenants', 'tenants.id', 'sessions.tenant_id')
    .where('users.is_active', '=', true)
    .where('tenants.is_active', '=', true)
    .where('tenants.deleted_at', 'is', null)

/** Finds the state of a session. Returns undefined if the session has ended, or if its user or tenant is inactive. */
export async function findSessionState(
  tx: TenantTx,
  id: string,
): Promise<SessionState | undefined> {
  const row = await living(tx, id)
    .leftJoin('departments', 'departments.id', 'users.department_id')
    .select([
      'users.id',
      'users.email',
      'users.full_name',
      'users.role',
      'users.tenant_id',
      'users.department_id',
      'users.can_see_all_patients',
      'users.is_active',
      STATUS,
      'users.must_change_password',
      'users.created_at',
      'departments.name as department_name',
      'tenants.is_demo',
      'sessions.absolute_expires_at',
      sql<unknown>`tenants.settings -> 'require_totp'`.as('demanded'),
      sql<unknown>`tenants.settings -> 'idle_minutes'`.as('idle_setting'),
      sql<boolean>`users.email_verified_at is not null`.as('email_verified'),
      sql<boolean>`users.totp_enabled_at is not null`.as('totp_enabled'),
    ])
    .where('sessions.tenant_id', '=', tx.tenantId)
    .executeTakeFirst()
  if (!row) return undefined
  const { is_demo, demanded, idle_setting, absolute_expires_at, ...known } = row
  const profile = { ...known, idle_minutes: idleMinutesOf(idle_setting) }
  const ends_at = Date.parse(absolute_expires_at)
  return { profile, is_demo, restriction: restrictionOf(profile, demanded), ends_at }
}

/** Returns whether the session is live with the same role. Sends the query without waiting for earlier queries. */
export async function isSignedIn(tx: TenantTx, caller: Caller): Promise<boolean> {
  const session = living(tx, caller.session_id)
    .select('sessions.id')
    .where('sessions.tenant_id', '=', caller.tenant_id)
    .where('sessions.user_id', '=', caller.user_id)
    .where('users.role', '=', caller.role)
  return (await tx.sendFor(session.compile()).rows).length > 0
}

/** Returns when the user last signed in; null if the user never did or no longer exists. */
export async function findLastLogin(tx: TenantTx, userId: number): Promise<string | null> {
  const row = await tx.db
    .selectFrom('users')
    .select('last_login_at')
    .where('id', '=', userId)
    .where('tenant_id', '=', tx.tenantId)
    .executeTakeFirst()
  return row?.last_login_at ?? null
}

export interface NewSession {
  id: string
  tenant_id: number
  user_id: number
  /** The network of the sign-in. The user's next sign-in from this network counts as known. */
  signed_in_from: string
  ip: string
  user_agent: string | null
  now: string
  is_console: boolean
  /** The idle limit of the session in seconds. */
  idle_seconds: number
  expires_at: string
  absolute_expires_at: string
  token_hash: Buffer
}

export function insertSession(tx: TenantTx, session: NewSession): void {
  const { token_hash, now, ...row } = session
  const started = tx.db
    .with('session', (db) =>
      db
        .insertInto('sessions')
        .values({ ...row, created_at: now, last_used_at: now })
        .returning('id'),
    )
    .insertInto('refresh_tokens')
    .values({
      token_hash,
      tenant_id: session.tenant_id,
      session_id: session.id,
      issued_at: now,
      expires_at: session.expires_at,
    })
  tx.send(started.compile())
}

export interface TokenRotation {
  hash: Buffer
  salt: Buffer
  successorHash: Buffer
  now: string
  is_console: boolean
  /** The new idle limit of the session in seconds; null to keep the current limit. */
  idle_seconds: number | null
}

/** The session and the user whose refresh token was rotated. */
export interface Rotated {
  session_id: string
  user_id: number
}

/** The columns of a rotation's journal entry whose values are copied from the session's row. */
const OF_SESSION: Partial<Record<keyof EntryRow, RawBuilder<unknown>>> = {
  tenant_id: sql.ref('used.tenant_id'),
  user_id: sql.ref('used.user_id'),
  resource_id: sql`used.id::text`,
}

const rotation = statement<TokenRotation & EntryRow>((value) => {
  const entry = insertion((column) => OF_SESSION[column] ?? value(column), sql`from used`)
  const now = value('now')
  const idle = sql`coalesce(${value('idle_seconds')}, s.idle_seconds)`
  return sql`
    with spent as (
      update refresh_tokens t set spent_at = ${now}, successor_salt = ${value('salt')}
      where t.token_hash = ${value('hash')} and t.tenant_id = ${value('tenant_id')}
        and t.spent_at is null and t.expires_at > ${now}
        and exists (select from sessions s where s.id = t.session_id and s.tenant_id = t.tenant_id
          and s.is_console = ${value('is_console')} and s.ended_at is null and s.expires_at > ${now})
      returning t.tenant_id, t.session_id
    ), used as (
      update sessions s set last_used_at = ${now}, ip = ${value('ip')},
        user_agent = ${value('user_agent')}, idle_seconds = ${idle}, expires_at = least(
          ${now}::timestamptz + make_interval(secs => ${idle}), s.absolute_expires_at)
      from spent
      where s.id = spent.session_id and s.tenant_id = spent.tenant_id
        and s.ended_at is null and s.expires_at > ${now}
      returning s.id, s.tenant_id, s.user_id, s.expires_at
    ), fresh as (
      insert into refresh_tokens (token_hash, tenant_id, session_id, issued_at, expires_at)
      select ${value('successorHash')}, used.tenant_id, used.id, ${now}, used.expires_at from used
    ), entered as (${entry})
    select used.id as session_id, used.user_id from used`
})

/**
 * Marks a refresh token as used, stores its successor and writes the journal entry, all in one statement. If several
 * calls use the same token at the same time, only one succeeds. The others return undefined and change nothing.
 */
export async function rotateRefreshToken(
  db: Scopes,
  tenantId: number,
  next: TokenRotation,
  entry: EntryRow,
): Promise<Rotated | undefined> {
  const query = rotation({ ...entry, ...next, tenant_id: tenantId })
  const [rotated] = await db.sendInTenant<Rotated>(tenantId, query, JOURNAL_TOPIC)
  return rotated
}

/** Finds a refresh token, with the data needed to handle its reuse. */
export async function findRefreshToken(tx: TenantTx, hash: Buffer) {
  return tx.db
    .selectFrom('refresh_tokens')
    .innerJoin('sessions', 'sessions.id', 'refresh_tokens.session_id')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select([
      'sessions.id as session_id',
      'sessions.user_id',
      'users.email',
      'sessions.is_console',
      'sessions.ended_at',
      'refresh_tokens.spent_at',
      'refresh_tokens.successor_salt',
    ])
    .where('refresh_tokens.token_hash', '=', hash)
    .where('refresh_tokens.tenant_id', '=', tx.tenantId)
    .executeTakeFirst()
}

/** Selects live sessions: all of a tenant, all of a user, all of a user except one, or a single session. */
export interface Which {
  tenantId: number
  userId?: number
  sessionId?: string
  except?: string
}

/** Ends the selected sessions. Returns how many of them had not expired. */
export async function endSessions(
  tx: TenantTx,
  which: Which,
  now: string,
  reason: string,
): Promise<number> {
  let ending = tx.db
    .updateTable('sessions')
    .set({ ended_at: now, end_reason: reason })
    .where('tenant_id', '=', which.tenantId)
    .where('ended_at', 'is', null)
  if (which.userId !== undefined) ending = ending.where('user_id', '=', which.userId)
  if (which.sessionId !== undefined) ending = ending.where('id', '=', which.sessionId)
  if (which.except !== undefined) ending = ending.where('id', '<>', which.except)
  const ended = await ending.returning('expires_at').execute()
  return ended.filter(({ expires_at }) => expires_at > now).length
}

/** Ends the sessions of all users. The caller must make every node drop its cached sessions. */
export async function endEverySession(tx: TenantTx, now: string, reason: string): Promise<void> {
  await tx.db
    .updateTable('sessions')
    .set({ ended_at: now, end_reason: reason })
    .where('ended_at', 'is', null)
    .execute()
}

/**
 * Ends a user's live sessions, except the session `except` and the latest `kept` other sessions. Returns the ids of the
 * ended sessions. The caller must have locked the user's row, so that concurrent sign-ins run one after the other.
 */
export async function endOldest(
  tx: TenantTx,
  which: { tenantId: number; userId: number; except: string },
  kept: number,
  now: string,
): Promise<string[]> {
  const rows = await tx.db
    .updateTable('sessions')
    .set({ ended_at: now, end_reason: 'too_many' })
    .where('tenant_id', '=', which.tenantId)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('sessions')
        .select('id')
        .where('tenant_id', '=', which.tenantId)
        .where('user_id', '=', which.userId)
        .where('ended_at', 'is', null)
        .where('expires_at', '>', now)
        .where('id', '<>', which.except)
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .offset(kept),
    )
    .returning('id')
    .execute()
  return rows.map((row) => row.id)
}

/** Returns whether the session was started after `since` (ISO 8601). */
export async function isStartedAfter(tx: TenantTx, id: string, since: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', id)
    .where('tenant_id', '=', tx.tenantId)
    .where('created_at', '>', since)
    .executeTakeFirst()
  return row !== undefined
}

/** A session with the IP address and browser of its last use. */
export interface ListedSession {
  id: string
  created_at: string
  last_used_at: string
  ip: string | null
  user_agent: string | null
}

export function listSessions(
  tx: TenantTx,
  { tenantId, userId }: { tenantId: number; userId: number },
  now: string,
): Promise<ListedSession[]> {
  return tx.db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_used_at', 'ip', 'user_agent'])
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .execute()
}
