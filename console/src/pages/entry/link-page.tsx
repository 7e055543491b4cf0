/** The common parts of the pages of mailed links: the token, and the page that is shown without a token. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useSyncExternalStore } from 'react'
import { EntryPage } from './entry-page.tsx'
import { linkTexts as texts } from './link.texts.ts'
import { linkToken, subscribeToLinkToken } from './link-token.ts'

/** Shows the page for the token. When another link is opened in the same tab, the page starts again. */
export function WithLinkToken({ children }: { children: (token: string) => ReactNode }) {
  const token = useSyncExternalStore(subscribeToLinkToken, linkToken)
  if (token === '')
    return (
      <EntryPage title={texts.noTokenTitle} lead={texts.noToken}>
        <p>
          <Link to="/sign-in">{texts.goToSignIn}</Link>
        </p>
      </EntryPage>
    )
  return children(token)
}

/** Confirms the result, and links to the sign-in page. */
export function LinkDone({ title, lead }: { title: string; lead: string }) {
  return (
    <EntryPage title={title} lead={lead}>
      <Link to="/sign-in" className="button primary wide">
        {texts.signIn}
      </Link>
    </EntryPage>
  )
}
