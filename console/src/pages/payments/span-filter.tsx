import type { ListState } from '../../parts/list/list-state.ts'
import { TimeRange } from '../../parts/time-range.tsx'
import { type spanFilters, spanOf, spanParameters } from './span.ts'

/** The time range of a list. It stands below the other filters, because it has a form of its own. */
export function SpanFilter<Filters extends typeof spanFilters>({
  list: { filters, setFilters },
}: {
  list: ListState<Filters>
}) {
  const change = (parameters: ReturnType<typeof spanParameters>) =>
    setFilters(parameters as Parameters<typeof setFilters>[0])
  return (
    <div className="payment-span">
      <TimeRange
        value={spanOf(filters)}
        onChange={(value) => change(spanParameters(value))}
        onAll={() => change(spanParameters(undefined))}
      />
    </div>
  )
}
