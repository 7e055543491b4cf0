/** The sessions' SQL: their state, their life and their refresh tokens. */
import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Profile } from '../../users/index.ts'
import '../auth.table.ts'

/** What is known of a live session: whose it is, and whether that user's tenant is a demo. */
export interface SessionState {
  profile: Static<typeof Profile>
  is_demo: boolean
  /** Whether the session may do nothing but enrol a second factor. */
  enrolment_only: boolean
}

/** The state of a session; undefined when it has ended, or its user or tenant may not go on. */
export async function findSessionState(
  tx: TenantTx,
  id: string,
): Promise<SessionState | undefined> {
  const row = await tx.db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .innerJoin('tenants', 'tenants.id', 'sessions.tenant_id')
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
      'users.created_at',
      'users.last_login_at',
      'departments.name as department_name',
      'tenants.is_demo',
      'sessions.enrolment_only',
      sql<boolean>`users.email_verified_at is not null`.as('email_verified'),
      sql<boolean>`users.totp_enabled_at is not null`.as('totp_enabled'),
    ])
    .where('sessions.id', '=', id)
    .where('sessions.tenant_id', '=', tx.tenantId)
    .where('sessions.ended_at', 'is', null)
    .where('users.is_active', '=', true)
    .where('tenants.is_active', '=', true)
    .where('tenants.deleted_at', 'is', null)
    .executeTakeFirst()
  if (!row) return undefined
  const { is_demo, enrolment_only, ...profile } = row
  return { profile, is_demo, enrolment_only }
}

export interface NewSession {
  id: string
  tenant_id: number
  user_id: number
  ip: string
  user_agent: string | null
  now: string
  expires_at: string
  absolute_expires_at: string
  enrolment_only: boolean
  token_hash: Buffer
}

/** Starts a session with its first refresh token; it is there once the transaction has committed. */
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

export interface Rotation {
  hash: Buffer
  salt: Buffer
  successorHash: Buffer
  now: string
  /** The sliding end, unless the session's absolute end comes first. */
  expires_at: string
  ip: string
  user_agent: string | null
}

/**
 * Spends a refresh token and puts its successor in place, by one conditional update: of any number
 * at once exactly one gets the session back, the others get undefined.
 */
export async function rotateRefreshToken(
  tx: TenantTx,
  rotation: Rotation,
): Promise<{ session_id: string; user_id: number } | undefined> {
  const { hash, salt, successorHash, now, expires_at, ip, user_agent } = rotation
  const { rows } = await sql<{ session_id: string; user_id: number }>`
    with spent as (
      update refresh_tokens t set spent_at = ${now}, successor_salt = ${salt}
      where t.token_hash = ${hash} and t.tenant_id = ${tx.tenantId}
        and t.spent_at is null and t.expires_at > ${now}
      returning t.tenant_id, t.session_id
    ), used as (
      update sessions s set last_used_at = ${now}, ip = ${ip}, user_agent = ${user_agent},
        expires_at = least(${expires_at}::timestamptz, s.absolute_expires_at)
      from spent
      where s.id = spent.session_id and s.tenant_id = spent.tenant_id
        and s.ended_at is null and s.expires_at > ${now}
      returning s.id, s.tenant_id, s.user_id, s.expires_at
    ), fresh as (
      insert into refresh_tokens (token_hash, tenant_id, session_id, issued_at, expires_at)
      select ${successorHash}, used.tenant_id, used.id, ${now}, used.expires_at from used
    )
    select used.id as session_id, used.user_id from used`.execute(tx.db)
  return rows[0]
}

/** A refresh token with what its replay is judged by. */
export async function findRefreshToken(tx: TenantTx, hash: Buffer) {
  return tx.db
    .selectFrom('refresh_tokens')
    .innerJoin('sessions', 'sessions.id', 'refresh_tokens.session_id')
    .select([
      'sessions.id as session_id',
      'sessions.user_id',
      'sessions.ended_at',
      'refresh_tokens.spent_at',
      'refresh_tokens.successor_salt',
    ])
    .where('refresh_tokens.token_hash', '=', hash)
    .where('refresh_tokens.tenant_id', '=', tx.tenantId)
    .executeTakeFirst()
}

/** Ends live sessions. Answers the ids of those that this ended. */
export async function endSessions(
  tx: TenantTx,
  which: { tenantId: number; userId?: number; sessionId?: string },
  now: string,
  reason: string,
): Promise<string[]> {
  let ending = tx.db
    .updateTable('sessions')
    .set({ ended_at: now, end_reason: reason })
    .where('tenant_id', '=', which.tenantId)
    .where('ended_at', 'is', null)
  if (which.userId !== undefined) ending = ending.where('user_id', '=', which.userId)
  if (which.sessionId !== undefined) ending = ending.where('id', '=', which.sessionId)
  const rows = await ending.returning('id').execute()
  return rows.map((row) => row.id)
}

/** A user's live sessions, latest first; more than a page of them nobody reads. */
export function listSessions(tx: TenantTx, userId: number, now: string) {
  return tx.db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_used_at', 'ip', 'user_agent'])
    .where('tenant_id', '=', tx.tenantId)
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .limit(200)
    .execute()
}
