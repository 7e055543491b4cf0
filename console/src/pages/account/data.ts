/** The requests of the page "My account". */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'

const profileKey = ['profile']
const sessionsKey = ['own-sessions']
const messengerKey = ['messenger']

/** Loads the profile of the signed-in person. */
export const useProfile = () =>
  useQuery({ queryKey: profileKey, queryFn: () => take(api.GET('/api/users/me')) })

/** Loads the sessions of the signed-in person, latest first. */
export const useSessions = () =>
  useQuery({ queryKey: sessionsKey, queryFn: () => take(api.GET('/api/auth/sessions')) })

/**
 * Ends one session of the signed-in person.
 * @param onEnded called after the service ended it
 */
export function useEndSession(onEnded: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (jti: string) =>
      take(api.DELETE('/api/auth/sessions/{jti}', { params: { path: { jti } } })),
    onSuccess: onEnded,
    onSettled: () => void queries.invalidateQueries({ queryKey: sessionsKey }),
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

/** Loads the state of the person's chat. */
export const useMessenger = () =>
  useQuery({ queryKey: messengerKey, queryFn: () => take(api.GET('/api/messenger/status')) })

/** Returns a function that links the chat to which the code was sent. */
export function useLinkMessenger(): (code: string) => Promise<void> {
  const queries = useQueryClient()
  return async (code) => {
    const status = await take(api.POST('/api/messenger/link', { body: { code } }))
    queries.setQueryData(messengerKey, status)
  }
}

/**
 * Unlinks the chat of the person.
 * @param onUnlinked called after the service has unlinked the chat and before the page shows that
 */
export function useUnlinkMessenger(onUnlinked: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () => take(api.DELETE('/api/messenger/link')),
    onSuccess: (status) => {
      onUnlinked()
      queries.setQueryData(messengerKey, status)
    },
  })
}
