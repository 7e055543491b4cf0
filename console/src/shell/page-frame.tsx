import { Link } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { PageHead } from '../parts/page-head.tsx'
import { Empty, NoRight } from '../parts/states.tsx'
import type { ConsolePage } from './pages.ts'
import { usePersonHere } from './person.ts'
import { shellTexts as texts } from './shell.texts.ts'

/** Wraps a page so that only roles with access to the page see it. */
export function guarded(page: ConsolePage, Page: ComponentType): ComponentType {
  return function GuardedPage() {
    const { role } = usePersonHere()
    if (page.roles.includes(role)) return <Page />
    return (
      <>
        <PageHead title={page.title} />
        <NoRight />
      </>
    )
  }
}

/** Reports an unknown URL. */
export function NotFound() {
  return (
    <>
      <PageHead title={texts.notFoundTitle} />
      <Empty title={texts.notFoundTitle} action={<Link to="/">{texts.toStart}</Link>}>
        {texts.notFound}
      </Empty>
    </>
  )
}
