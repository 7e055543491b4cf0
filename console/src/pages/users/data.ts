/** The requests of the pages about users. */
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { ApiError } from '../../api/problem.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { usersTexts } from './users.texts.ts'

/** A user of a clinic. */
export type User = Schemas['User']

/** Returns the path parameter of the operations on one user. */
const at = (user_id: number) => ({ params: { path: { user_id } } })

/**
 * Returns the parameters of a decision about a registration. They make the service refuse the decision unless the user
 * is still pending.
 */
const whilePending = (user_id: number) => ({
  params: { path: { user_id }, query: { if_status: 'pending' as const } },
})

/** The error of a decision about a registration that someone else has already approved, refused or blocked. */
export class AlreadyDecided extends Error {
  override readonly name = 'AlreadyDecided'

  constructor(cause: ApiError) {
    super(usersTexts.alreadyDecided, { cause })
  }
}

async function decide<Data>(decision: Promise<Data>): Promise<Data> {
  try {
    return await decision
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // A 404 means that the registration was refused, because a refused registration is deleted.
    const isLate = error.code === 'status_changed' || error.status === 404
    throw isLate ? new AlreadyDecided(error) : error
  }
}

/** Changes of a single user that need no form. */
export const userChanges = {
  block: (id: number) => take(api.POST('/api/admin/users/{user_id}/block', at(id))),
  unblock: (id: number) => take(api.POST('/api/admin/users/{user_id}/unblock', at(id))),
  approve: (id: number) =>
    decide(take(api.POST('/api/admin/users/{user_id}/unblock', whilePending(id)))),
  refuse: (id: number) => decide(take(api.DELETE('/api/admin/users/{user_id}', whilePending(id)))),
  invite: (id: number) => take(api.POST('/api/admin/users/{user_id}/invitation', at(id))),
  endSessions: (id: number) => take(api.DELETE('/api/admin/users/{user_id}/sessions', at(id))),
  removeFactor: (id: number) => take(api.DELETE('/api/admin/users/{user_id}/totp', at(id))),
  remove: (id: number) => take(api.DELETE('/api/admin/users/{user_id}', at(id))),
  changeRole: (id: number, role: User['role']) =>
    take(api.PUT('/api/admin/users/{user_id}/role', { ...at(id), body: { role } })),
}

/**
 * Loads a user.
 * @param known the user as a list shows it, and the time of the list's response
 */
export function useUser(id: number, known: { user: User | undefined; at: number }) {
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['users', clinicId, 'one', id],
    queryFn: () => take(api.GET('/api/admin/users/{user_id}', at(id))),
    ...(known.user && { initialData: known.user, initialDataUpdatedAt: known.at }),
  })
}

/** Loads the sessions of a user, latest first. */
export function useUserSessions(id: number) {
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['users', clinicId, 'sessions', id],
    queryFn: () => take(api.GET('/api/admin/users/{user_id}/sessions', at(id))),
  })
}

/** Ends one session of a user. */
export const endUserSession = (user_id: number, jti: string) =>
  take(
    api.DELETE('/api/admin/users/{user_id}/sessions/{jti}', { params: { path: { user_id, jti } } }),
  )

const HISTORY_LENGTH = 20

/** Loads the latest entries of the audit log about a user. */
export function useUserHistory(id: number) {
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['audit', clinicId, 'about', id],
    queryFn: () => {
      const query = { tenant_id: clinicId, about_user: id, limit: HISTORY_LENGTH }
      return take(api.GET('/api/admin/audit', { params: { query } }))
    },
  })
}
