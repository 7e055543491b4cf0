import { type UseQueryResult, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ApiError, retryDelayOf } from '../api/problem.ts'
import { Skeleton } from './skeleton.tsx'
import { ErrorState, Maintenance, NoRight, StaleBanner, TooManyRequests } from './states.tsx'

interface QueryStateProps<Data> {
  readonly query: UseQueryResult<Data>
  readonly children: (data: Data) => ReactNode
  /** Placeholder content in the layout of the loaded page. */
  readonly skeleton?: ReactNode
}

/**
 * Shows the data of a query, or the state of the query. Data that could not be refreshed stays visible, with a banner.
 */
export function QueryState<Data>({ query, children, skeleton }: QueryStateProps<Data>) {
  const client = useQueryClient()
  // Shows the reason while a request is retried automatically.
  const reason = query.error ?? query.failureReason
  const retry = async () => {
    // Cancels requests that wait for a retry, because they would prevent a new request.
    await client.cancelQueries({ predicate: ({ state }) => state.fetchFailureReason === reason })
    await query.refetch()
  }
  if (query.data === undefined && !reason) return skeleton ?? <Skeleton />
  if (query.data === undefined || isFinal(reason))
    return <QueryError error={reason} isRetrying={query.isFetching} onRetry={() => void retry()} />
  return (
    <>
      {reason && <StaleBanner since={new Date(query.dataUpdatedAt)} onRetry={() => void retry()} />}
      {children(query.data)}
    </>
  )
}

/** True if the data was deleted, or the user has lost the right to read it. */
const isFinal = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 403 || error.status === 404)

interface QueryErrorProps {
  readonly error: unknown
  /** True while the request is retried automatically. */
  readonly isRetrying?: boolean
  readonly onRetry: () => void
}

/** Explains why a request failed, with the next step. */
export function QueryError({ error, isRetrying = false, onRetry }: QueryErrorProps) {
  if (!(error instanceof ApiError)) return <ErrorState detail={String(error)} onRetry={onRetry} />
  if (error.status === 503) return <Maintenance />
  if (error.status === 403) return <NoRight />
  if (error.status === 429)
    return (
      <TooManyRequests
        key={error.receivedAt}
        seconds={retryDelayOf(error)}
        onEnd={() => !isRetrying && onRetry()}
      />
    )
  return <ErrorState detail={error.detail} requestId={error.requestId} onRetry={onRetry} />
}
