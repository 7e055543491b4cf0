/** The frame of the pages without the shell. */
import type { ReactNode } from 'react'
import { CONSOLE_PATH } from '../../api/prefix.ts'
import './entry.css'

const PRODUCT = 'Wardkeep'

interface EntryPageProps {
  title: string
  className?: string | undefined
  /** A line below the title. */
  lead?: ReactNode
  children?: ReactNode
  /** A second, less prominent card. */
  aside?: ReactNode
}

/** Shows one card in the middle of the page. When the title changes, its heading takes the focus, as on a new page. */
export function EntryPage({ title, className = '', lead, children, aside }: EntryPageProps) {
  return (
    <main className={`entry ${className}`}>
      <div className="entry-card">
        <img src={`${CONSOLE_PATH}/icon.svg`} width="36" height="36" alt="" />
        <div>
          <h1 key={title} tabIndex={-1} ref={introduce}>
            {title}
          </h1>
          {lead && <p className="entry-lead">{lead}</p>}
        </div>
        {children}
      </div>
      {aside}
    </main>
  )
}

/** An important message, such as why the user was signed out. */
export function Notice({
  children,
  tone = 'calm',
}: {
  children: ReactNode
  tone?: 'calm' | 'attention'
}) {
  return <p className={`entry-notice ${tone}`}>{children}</p>
}

function introduce(heading: HTMLHeadingElement | null): void {
  if (!heading) return
  const { textContent: title } = heading
  document.title = title.endsWith(PRODUCT) ? title : `${title} – ${PRODUCT}`
  heading.focus()
}
