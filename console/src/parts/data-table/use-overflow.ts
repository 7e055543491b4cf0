import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

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
  useLayoutEffect(() => {
    const measure = () => {
      if (!container.current || !table.current) return
      setOverflowing(table.current.offsetWidth > container.current.clientWidth)
    }
    const observer = new ResizeObserver(measure)
    if (container.current) observer.observe(container.current)
    if (table.current) observer.observe(table.current)
    return () => observer.disconnect()
  }, [])
  return { container, table, isOverflowing }
}
