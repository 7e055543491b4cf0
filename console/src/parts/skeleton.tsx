import { useEffect, useState } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import './states.css'

const SHOWN_AFTER_MS = 150

/** Returns true if loading has taken longer than 150 ms, so that quick responses cause no flicker. */
export function useSlow(isBusy: boolean): boolean {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    if (!isBusy) return
    const timer = setTimeout(() => setSlow(true), SHOWN_AFTER_MS)
    return () => {
      clearTimeout(timer)
      setSlow(false)
    }
  }, [isBusy])
  return isSlow && isBusy
}

/** Grey lines in place of text that is loading. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const isSlow = useSlow(true)
  return (
    <div className={isSlow ? 'skeleton' : undefined} role="status" aria-busy>
      {isSlow && (
        <>
          <span className="hidden">{commonTexts.loading}</span>
          {upTo(lines).map((line) => (
            <SkeletonLine key={line} at={line} />
          ))}
        </>
      )}
    </div>
  )
}

/** One grey line. Its width depends on its position, so that several lines look like text. */
export function SkeletonLine({ at }: { at: number }) {
  return <span className="skeleton-line" style={{ width: `${88 - ((at * 29) % 47)}%` }} />
}

/** The integers from 0 to `count` - 1. */
export const upTo = (count: number): number[] => [...Array(count).keys()]
