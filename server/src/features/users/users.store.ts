import { type RawBuilder, sql } from 'kysely'
import { foldEmail } from '../../lib/email.ts'
import { nameKey } from '../../lib/fold.ts'
import type { Found, PageRequest } from '../../lib/page.ts'
import type { Role } from '../../lib/roles.ts'
import {
  containsName,
  ofScope,
  purgerOf,
  readPage,
  type Scoped,
  statement,
  type TenantTx,
  type ValueOf,
} from '../../platform/db/index.ts'
import type { User, UserChange, UserQuery } from './users.schema.ts'
import { STANDS, STATUS } from './users.status.ts'
import './users.table.ts'

/** Selects the department's name in a subquery, which runs only for the rows of the response. Lists need no join. */
const DEPARTMENT_NAME = sql<string | null>`(select d.name from departments d
  where d.tenant_id = users.tenant_id and d.id = users.department_id)`.as('department_name')

/** The columns that administrators can see. Must never include the password hash. */
const COLUMNS = [
  'id',
  'email',
  'full_name',
  'role',
  'tenant_id',
  'department_id',
  DEPARTMENT_NAME,
  'can_see_all_patients',
  'is_active',
  STATUS,
  sql<boolean>`email_verified_at is not null`.as('email_verified'),
  sql<boolean>`totp_enabled_at is not null`.as('totp_enabled'),
  'must_change_password',
  'created_at',
  'last_login_at',
] as const

/** The boolean filters. Each has a timestamp column, which is not null if the filter matches. */
const SINCE = [
  ['email_verified', 'email_verified_at'],
  ['totp_enabled', 'totp_enabled_at'],
] as const

function visible(scope: Scoped) {
  return scope.db.selectFrom('users').where(ofScope(scope, 'tenant_id'))
}

const listed = (scope: Scoped) => visible(scope).select(COLUMNS)

/** Starts an update of a user. Updates no row if the user's tenant was deleted while this waited for a lock. */
function updating(tx: TenantTx, id: number) {
  return tx.db.updateTable('users').where('id', '=', id).where(ofScope(tx, 'tenant_id'))
}

export function listUsers(tx: TenantTx, asked: PageRequest<UserQuery>): Promise<Found<User>> {
  const { role, is_active, status, department_id, search } = asked.query
  return readPage(tx, asked, listed, {
    filter(users) {
      let filtered = users
      if (role) filtered = filtered.where('role', '=', role)
      if (is_active !== undefined) filtered = filtered.where('is_active', '=', is_active)
      if (status)
        for (const [column, value] of Object.entries(STANDS[status]))
          filtered = filtered.where(column as 'is_active', '=', value)
      if (department_id) filtered = filtered.where('department_id', '=', department_id)
      for (const [name, column] of SINCE)
        if (asked.query[name] !== undefined)
          filtered = filtered.where(column, asked.query[name] ? 'is not' : 'is', null)
      if (search) filtered = filtered.where(containsName('search', search))
      return filtered
    },
    columns: { full_name: 'name_key' },
    countedIn: ['users'],
    isAll: true,
  })
}

export function findUser(tx: TenantTx, id: number): Promise<User | undefined> {
  return visible(tx).select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

/** Finds and locks a user until the transaction ends. Sends the query without waiting for earlier queries. */
export async function lockUser(tx: TenantTx, id: number): Promise<User | undefined> {
  const user = visible(tx).select(COLUMNS).where('id', '=', id).forUpdate()
  return (await tx.sendFor<User>(user.compile()).rows)[0]
}

/** Finds the superadmin with this folded address, and locks the row. */
export function findOperator(tx: TenantTx, email: string): Promise<User | undefined> {
  return visible(tx)
    .select(COLUMNS)
    .where('role', '=', 'superadmin')
    .where(sql<string>`lower(email collate "C")`, '=', email)
    .orderBy('id')
    .forUpdate()
    .executeTakeFirst()
}

/** Returns whether a user of the tenant has this address, in any spelling. */
export async function isEmailTaken(
  tx: TenantTx,
  tenantId: number,
  email: string,
): Promise<boolean> {
  const row = await visible(tx)
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where(sql<string>`lower(email collate "C")`, '=', foldEmail(email))
    .executeTakeFirst()
  return row !== undefined
}

export interface UserRow {
  tenant_id: number
  email: string
  full_name: string
  role: Role
  department_id: number | null
  can_see_all_patients: boolean
  /** Null for an invited user who has not chosen a password yet. */
  password_hash: string | null
  must_change_password?: boolean
  email_verified_at: string | null
  is_vouched?: boolean
  is_active?: boolean
  is_pending?: boolean
}

export function insertUser(tx: TenantTx, user: UserRow): Promise<User> {
  return tx.db
    .insertInto('users')
    .values({ ...user, name_key: nameKey(user.full_name), is_folded: true })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** Updates a user. @param isNewAddress true if `change` contains a different address, which is therefore unconfirmed */
export function updateUser(
  tx: TenantTx,
  id: number,
  { full_name, ...change }: UserChange & { role?: Role },
  isNewAddress = false,
): Promise<User | undefined> {
  const keyed =
    full_name === undefined ? {} : { full_name, name_key: nameKey(full_name), is_folded: true }
  return updating(tx, id)
    .set({ ...change, ...keyed, ...(isNewAddress ? UNCONFIRMED : {}) })
    .returning(COLUMNS)
    .executeTakeFirst()
}

/** For an unconfirmed address. The administrator who entered the address vouches for it, so the user can sign in. */
const UNCONFIRMED = {
  is_vouched: sql<boolean>`is_vouched or email_verified_at is not null`,
  email_verified_at: null,
}

export async function saveUserNameKeys(
  tx: TenantTx,
  rows: readonly { id: number; key: string }[],
): Promise<void> {
  await sql`update users set name_key = k.key, is_folded = true
    from unnest(${rows.map(({ id }) => id)}::bigint[], ${rows.map(({ key }) => key)}::text[]) k (id, key)
    where users.id = k.id`.execute(tx.db)
}

/** Blocks or unblocks a user. In both cases, a pending registration counts as decided. */
export function setActive(tx: TenantTx, id: number, is_active: boolean): Promise<User | undefined> {
  return updating(tx, id)
    .set({ is_active, is_pending: false })
    .returning(COLUMNS)
    .executeTakeFirst()
}

/** Deletes a user and returns the deleted row. Returns undefined if the user's tenant has just been deleted. */
export function deleteUser(tx: TenantTx, id: number): Promise<User | undefined> {
  const deleted = tx.db.deleteFrom('users').where('id', '=', id).where(ofScope(tx, 'tenant_id'))
  return deleted.returning(COLUMNS).executeTakeFirst()
}

export function setPassword(
  tx: TenantTx,
  id: number,
  password_hash: string,
): Promise<User | undefined> {
  return updating(tx, id)
    .set({ password_hash, must_change_password: false })
    .returning(COLUMNS)
    .executeTakeFirst()
}

/** Sets a password that an administrator has chosen, and confirms the user's address. */
export function assignPassword(
  tx: TenantTx,
  id: number,
  password_hash: string,
  must_change_password = false,
): Promise<User | undefined> {
  return updating(tx, id)
    .set({ password_hash, must_change_password, is_vouched: true })
    .returning(COLUMNS)
    .executeTakeFirst()
}

/** Marks the user's address as confirmed. Returns false if it was confirmed before. */
export async function markVerified(tx: TenantTx, id: number, now: string): Promise<boolean> {
  const { numUpdatedRows } = await updating(tx, id)
    .set({ email_verified_at: now })
    .where('email_verified_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Sets the time since which the user has a second factor. Null means that the user has none. */
export async function setTotpEnabledAt(
  tx: TenantTx,
  user: { id: number; tenant_id: number },
  at: string | null,
): Promise<void> {
  await tx.db
    .updateTable('users')
    .set({ totp_enabled_at: at })
    .where('id', '=', user.id)
    .where('tenant_id', '=', user.tenant_id)
    .execute()
}

/** The fields of a user that may have changed since sign-in found the account. */
type SignedIn = Pick<User, 'role' | 'full_name' | 'totp_enabled' | 'must_change_password'>

export interface SigningIn {
  id: number
  tenant_id: number
  password_hash: string
  now: string
}

/**
 * Returns the first parts of a SQL statement that records a sign-in. The last part, `signed_in`, contains the user's
 * row if the user may still sign in with the verified password. The row stays locked until the commit. A concurrent
 * block of the user waits for the lock, and then ends the new session too.
 * @param hash the new value of the password hash
 * @param stillHolds additional conditions that the row must meet
 */
export function signingIn(
  value: ValueOf<SigningIn>,
  { hash, stillHolds = sql`true` }: { hash: RawBuilder<unknown>; stillHolds?: RawBuilder<unknown> },
): RawBuilder<unknown> {
  return sql`tenant as (
      select id from tenants where id = ${value('tenant_id')} and is_active and deleted_at is null for share
    ), signed_in as (
      update users set last_login_at = ${value('now')}, password_hash = ${hash}
      from tenant
      where users.id = ${value('id')} and users.tenant_id = tenant.id
        and users.is_active and users.password_hash = ${value('password_hash')} and ${stillHolds}
      returning users.id, users.tenant_id, users.role, users.full_name, users.must_change_password,
        users.totp_enabled_at is not null as totp_enabled
    )`
}

const signIn = statement<SigningIn & { freshHash: string | null }>(
  (value) => sql`
    with ${signingIn(value, { hash: sql`coalesce(${value('freshHash')}, password_hash)` })}
    select role, full_name, must_change_password, totp_enabled from signed_in`,
)

/**
 * Records a sign-in with the statement of `signingIn`. Returns the current fields of the user, or undefined if the user
 * may no longer sign in.
 * @param freshHash the password hashed at the current cost, or null to keep the stored hash
 */
export async function recordSignIn(
  tx: TenantTx,
  user: { id: number; tenant_id: number; password_hash: string },
  now: string,
  freshHash: string | null,
): Promise<SignedIn | undefined> {
  const [signedIn] = await tx.sendFor<SignedIn>(signIn({ ...user, now, freshHash })).rows
  return signedIn
}

/** Sets the user's new password if the stored hash is still `expected`. Of concurrent calls, one succeeds. */
export function replacePassword(
  tx: TenantTx,
  id: number,
  expected: string,
  password_hash: string,
): Promise<User | undefined> {
  return updating(tx, id)
    .set({ password_hash, must_change_password: false })
    .where('password_hash', '=', expected)
    .returning(COLUMNS)
    .executeTakeFirst()
}

export async function findPasswordHash(tx: TenantTx, id: number): Promise<string | undefined> {
  const row = await visible(tx).select('password_hash').where('id', '=', id).executeTakeFirst()
  return row?.password_hash ?? undefined
}

/** Returns whether the user is an active doctor of the tenant. The row stays locked until the transaction ends. */
export async function isActiveDoctor(tx: TenantTx, tenantId: number, id: number): Promise<boolean> {
  const row = await visible(tx)
    .select('id')
    .where('id', '=', id)
    .where('tenant_id', '=', tenantId)
    .where('role', '=', 'doctor')
    .where('is_active', '=', true)
    .forShare()
    .executeTakeFirst()
  return row !== undefined
}

/** A department whose head is not eligible. `role` and `is_active` are null if the tenant has no such user. */
interface UnfitHead {
  department_id: number
  tenant_id: number
  head_doctor_id: number
  role: Role | null
  is_active: boolean | null
  is_own: boolean
}

/** The departments to check: the next `limit` departments with a head and an id above `after`, or the given ids. */
type HeadedDepartments = { after: number; limit: number } | { ids: readonly number[] }

interface Heads {
  unfit: UnfitHead[]
  looked_at: number
  /** The id of the last department that was checked; null if there was none. */
  last: number | null
}

/** Finds departments whose head is not an active doctor of the same tenant. */
export async function findUnfitHeads(tx: TenantTx, which: HeadedDepartments): Promise<Heads> {
  const wanted =
    'ids' in which ? sql`id = any(${which.ids}::bigint[])` : sql`id > ${which.after}::bigint`
  const { rows } = await sql<Heads>`
    select count(*) as looked_at, max(d.id) as last,
      coalesce(jsonb_agg(jsonb_build_object('department_id', d.id, 'tenant_id', d.tenant_id,
        'head_doctor_id', d.head_doctor_id, 'role', u.role, 'is_active', u.is_active,
        'is_own', u.id is not null) order by d.id) filter (where
          (u.role = 'doctor' and u.is_active) is not true), '[]') as unfit
    from (
      select id, tenant_id, head_doctor_id from departments
      where head_doctor_id is not null and ${wanted} and ${ofScope(tx, 'tenant_id')}
      order by id limit ${'limit' in which ? which.limit : which.ids.length}
    ) d left join users u on u.id = d.head_doctor_id and u.tenant_id = d.tenant_id`.execute(tx.db)
  return rows[0] ?? { unfit: [], looked_at: 0, last: null }
}

/** Lists the tenant's active administrators, who receive its mails. For the platform tenant, lists superadmins. */
export function listAdmins(tx: TenantTx): Promise<{ email: string; full_name: string }[]> {
  return visible(tx)
    .select(['email', 'full_name'])
    .where('role', 'in', ['admin', 'superadmin'])
    .where('is_active', '=', true)
    .orderBy('id')
    .execute()
}

/** Lists the active superadmins. Needs a transaction across tenants. */
export function listSuperadmins(tx: TenantTx): Promise<{ email: string; full_name: string }[]> {
  return visible(tx)
    .select(['email', 'full_name'])
    .where('role', '=', 'superadmin')
    .where('is_active', '=', true)
    .orderBy('id')
    .execute()
}

export async function countUsers(tx: TenantTx): Promise<number> {
  const { count } = await visible(tx)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

export const purgeUsers = purgerOf('users')
