import { type ReactNode, useEffect, useRef } from 'react'
import './page-head.css'

interface PageHeadProps {
  readonly title: string
  /** The number of records, beside the title. */
  readonly count?: string | undefined
  readonly actions?: ReactNode
}

/** True until the first page of the document has shown. A document that began elsewhere has shown one. */
let isFirstPage = pathOfDocument() === location.pathname

/** The title of a page with its actions. It takes the focus, unless the browser has just opened the document. */
export function PageHead({ title, count, actions }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} – Wardkeep`
  }, [title])
  useEffect(() => {
    if (!isFirstPage) heading.current?.focus()
    isFirstPage = false
  }, [])
  return (
    <div className="page-head">
      <h1 ref={heading} tabIndex={-1}>
        {title} {count && <span className="count">{count}</span>}
      </h1>
      {actions && <div className="row end">{actions}</div>}
    </div>
  )
}

function pathOfDocument(): string | undefined {
  const [document] = performance.getEntriesByType('navigation')
  return document && URL.parse(document.name)?.pathname
}
