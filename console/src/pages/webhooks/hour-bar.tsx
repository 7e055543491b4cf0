import { formatNumber } from '../../words/numbers.ts'
import type { WebhookStats } from './data.ts'
import { webhookTexts as texts } from './webhooks.texts.ts'

const BAR = 4
const HEIGHT = 28

/** Shows the deliveries of each of the last 24 hours as a small bar, with the failed ones on top, and their numbers. */
export function HourBar({
  stats,
}: {
  stats: Pick<WebhookStats, 'hourly' | 'delivered' | 'failed'>
}) {
  const { delivered, failed } = stats.hourly
  const top = Math.max(1, ...delivered.map((count, hour) => count + (failed[hour] ?? 0)))
  const height = (count: number) => (count === 0 ? 0 : Math.max(2, (count / top) * HEIGHT))
  return (
    <span className="hour-bar">
      <svg width={delivered.length * BAR} height={HEIGHT} aria-hidden="true">
        {delivered.map((count, hour) => {
          const good = height(count)
          const bad = height(failed[hour] ?? 0)
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: an hour has no other name
            <g key={hour}>
              <rect className="none" x={hour * BAR} y={HEIGHT - 1} width={BAR - 1} height={1} />
              <rect
                className="good"
                x={hour * BAR}
                y={HEIGHT - good}
                width={BAR - 1}
                height={good}
              />
              <rect
                className="bad"
                x={hour * BAR}
                y={Math.max(0, HEIGHT - good - bad)}
                width={BAR - 1}
                height={bad}
              />
            </g>
          )
        })}
      </svg>
      <span className="hidden">{texts.barOf(stats.delivered, stats.failed)}</span>
      <span aria-hidden="true">
        {formatNumber(stats.delivered)}
        {stats.failed > 0 && <b className="bad-text"> · {texts.failedOf(stats.failed)}</b>}
      </span>
    </span>
  )
}
