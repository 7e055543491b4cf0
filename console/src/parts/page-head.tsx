import { type ReactNode, useEffect, useRef } from 'react'
import './page-head.css'

interface PageHeadProps {
  readonly title: string
  /** The number of records, beside the title. */
  readonly count?: string | undefined
  readonly actions?: ReactNode
}

/** The initial title of the document, from `index.html`. */
const UNTITLED = 'Wardkeep'

/**
 * The title of a page, with its actions. The title takes the focus, except when the browser has just loaded the
 * document.
 */
export function PageHead({ title, count, actions }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (document.title !== UNTITLED) heading.current?.focus()
  }, [])
  useEffect(() => {
    document.title = `${title} – Wardkeep`
  }, [title])
  return (
    <div className="page-head">
      <h1 ref={heading} tabIndex={-1}>
        {title} {count && <span className="count">{count}</span>}
      </h1>
      {actions && <div className="row end">{actions}</div>}
    </div>
  )
}
