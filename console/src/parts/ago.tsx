import { useEffect, useState } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import { formatAgo, formatFullTime } from '../words/dates.ts'

const REFRESH_MS = 30_000

/** Returns the current time. Updates it every 30 seconds. */
export function useNow(): Date {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), REFRESH_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** Shows how long ago a time was. The full time and its zone appear on hover. */
export function Ago({ at, absent = commonTexts.never }: { at: string | null; absent?: string }) {
  // Renders again with time. The time itself is read here, so that an event that was just loaded is never in the future.
  useNow()
  const now = new Date()
  if (at === null) return <span className="muted">{absent}</span>
  const time = new Date(at)
  return (
    <time dateTime={at} title={formatFullTime(time)}>
      {formatAgo(time, now)}
    </time>
  )
}
