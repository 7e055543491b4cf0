import { useLocation } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import './page-head.css'

interface PageHeadProps {
  readonly title: string
  /** The number of records, beside the title. */
  readonly count?: string | undefined
  readonly actions?: ReactNode
}

let shownPath: string | undefined

/** The title of a page with its actions. It takes the focus when someone comes from another page. */
export function PageHead({ title, count, actions }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const { pathname } = useLocation()
  useEffect(() => {
    document.title = `${title} – Wardkeep`
  }, [title])
  useEffect(() => {
    if (shownPath !== undefined && shownPath !== pathname) heading.current?.focus()
    shownPath = pathname
  }, [pathname])
  return (
    <div className="page-head">
      <h1 ref={heading} tabIndex={-1}>
        {title} {count && <span className="count">{count}</span>}
      </h1>
      {actions && <div className="row end">{actions}</div>}
    </div>
  )
}
