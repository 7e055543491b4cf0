import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'

/**
 * Returns refs for a container and its table, and whether the table is wider than the container. Only a container with
 * a wider table may scroll, because the head of a table in a scrolling container does not stick to the page.
 */
export function useOverflow(): {
  container: RefObject<HTMLDivElement | null>
  table: RefObject<HTMLTableElement | null>
  isOverflowing: boolean
} {
  const container = useRef<HTMLDivElement>(null)
  const table = useRef<HTMLTableElement>(null)
  const [isOverflowing, setOverflowing] = useState(false)
  const measure = () => {
    if (!container.current || !table.current) return
    setOverflowing(table.current.offsetWidth > container.current.clientWidth)
  }
  // Measures after each change of the table, before the browser paints it. Otherwise a wide table would widen the page.
  useLayoutEffect(measure)
  const onResize = useEffectEvent(measure)
  useEffect(() => {
    const observer = new ResizeObserver(() => flushSync(onResize))
    if (container.current) observer.observe(container.current)
    return () => observer.disconnect()
  }, [])
  return { container, table, isOverflowing }
}
