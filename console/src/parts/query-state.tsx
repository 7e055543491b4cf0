import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ApiError } from '../api/problem.ts'
import { Skeleton } from './skeleton.tsx'
import { ErrorState, Maintenance, NoRight, StaleBanner, TooManyRequests } from './states.tsx'

interface QueryStateProps<Data> {
  readonly query: UseQueryResult<Data>
  readonly children: (data: Data) => ReactNode
  /** The skeleton of the real layout. */
  readonly skeleton?: ReactNode
}

/** Shows the data of a query, or the state that it is in. Data that could not be renewed stay, with a banner. */
export function QueryState<Data>({ query, children, skeleton }: QueryStateProps<Data>) {
  const retry = () => void query.refetch()
  if (query.data === undefined) {
    // While a request is repeated by itself, the reason shows.
    const reason = query.error ?? query.failureReason
    return reason ? <QueryError error={reason} onRetry={retry} /> : (skeleton ?? <Skeleton />)
  }
  return (
    <>
      {query.isError && <StaleBanner since={new Date(query.dataUpdatedAt)} onRetry={retry} />}
      {children(query.data)}
    </>
  )
}

/** Says why a request failed, and what follows from it. */
export function QueryError({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (!(error instanceof ApiError)) return <ErrorState detail={String(error)} onRetry={onRetry} />
  if (error.status === 503) return <Maintenance />
  if (error.status === 403) return <NoRight />
  if (error.status === 429)
    return <TooManyRequests seconds={error.retryAfter ?? 5} onRetry={onRetry} />
  return <ErrorState detail={error.detail} requestId={error.requestId} onRetry={onRetry} />
}
