import { QueryClient } from '@tanstack/react-query'
import { ApiError, retryDelayOf } from './problem.ts'

const STALE_MS = 5000

/**
 * The cache of the pages' data. Retries a request while the service is unavailable or limits requests. Does not retry
 * other refusals.
 */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      // Sends requests even if the browser is offline, because the service may be in the same building and reachable
      // without the internet.
      networkMode: 'always',
      retry: (_count, error) => error instanceof ApiError && error.isPassing,
      retryDelay: (_count, error) => 1000 * (error instanceof ApiError ? retryDelayOf(error) : 1),
    },
    mutations: { networkMode: 'always', retry: false },
  },
})
