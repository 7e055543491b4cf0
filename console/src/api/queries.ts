import { QueryClient } from '@tanstack/react-query'
import { ApiError, retryDelayOf } from './problem.ts'

const STALE_MS = 5000

/**
 * The cache of the pages' data. Retries while the service is unavailable or limits requests. Other refusals are final.
 */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      // The service may be in the same building, reachable without the internet.
      networkMode: 'always',
      retry: (_count, error) => error instanceof ApiError && error.isPassing,
      retryDelay: (_count, error) => 1000 * (error instanceof ApiError ? retryDelayOf(error) : 1),
    },
    mutations: { networkMode: 'always', retry: false },
  },
})
