/** The page for unknown URLs. */
import { Link } from '@tanstack/react-router'
import { EntryPage } from './entry-page.tsx'
import { notFoundTexts as texts } from './not-found.texts.ts'

/** Reports an unknown URL, and links to the start page. */
export function NotFound() {
  return (
    <EntryPage title={texts.title} lead={texts.lead}>
      <p>
        <Link to="/">{texts.home}</Link>
      </p>
    </EntryPage>
  )
}
