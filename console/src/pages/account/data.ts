/** The requests of the page "My account". */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'

const profileKey = ['profile']
const sessionsKey = ['own-sessions']

/** Loads the profile of the signed-in person. */
export const useProfile = () =>
  useQuery({ queryKey: profileKey, queryFn: () => take(api.GET('/api/users/me')) })

/** Loads the sessions of the signed-in person, latest first. */
export const useSessions = () =>
  useQuery({ queryKey: sessionsKey, queryFn: () => take(api.GET('/api/auth/sessions')) })

/** Ends one session of the signed-in person. */
export function useEndSession() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (jti: string) =>
      take(api.DELETE('/api/auth/sessions/{jti}', { params: { path: { jti } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionsKey }),
  })
}

/** Returns a function that loads the profile and the sessions again. */
export function useReloadAccount(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: profileKey }),
      queries.invalidateQueries({ queryKey: sessionsKey }),
    ])
  }
}
