import { lazyRouteComponent, Outlet, useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect, useId, useState } from 'react'
import { listenToKeys, useShortcuts } from '../parts/keys.ts'
import { useMedia } from '../parts/media.ts'
import { ToastRegion } from '../parts/toast.tsx'
import { usePerson } from '../session/index.ts'
import { addressOf, useClinicId } from './clinic.ts'
import { useLooksOf } from './looks.ts'
import { Navigation } from './navigation.tsx'
import { pagesFor } from './pages.ts'
import { PersonContext, usePersonHere } from './person.ts'
import { Search } from './search.tsx'
import { searchLabel } from './search-label.ts'
import { shellTexts as texts } from './shell.texts.ts'
import { TopBar } from './top-bar.tsx'
import './shell.css'

const NARROW = '(max-width: 900px)'

const KeysDialog = lazyRouteComponent(() => import('../parts/keys-dialog.tsx'), 'KeysDialog')

/** The frame around every page. It renders nothing if nobody is signed in. */
export function Shell() {
  const person = usePerson()
  useLooksOf(person)
  useEffect(listenToKeys, [])
  if (!person) return null
  return (
    <PersonContext value={person}>
      <Frame />
    </PersonContext>
  )
}

function Frame() {
  const { role } = usePersonHere()
  const navigationId = useId()
  const isNarrow = useMedia(NARROW)
  const [dialog, setDialog] = useState<'search' | 'keys'>()
  const close = () => setDialog(undefined)
  const search = () => setDialog('search')
  const keys = () => setDialog('keys')
  useShortcuts([
    { keys: 'ctrl+k', label: searchLabel(role), run: search },
    { keys: '?', label: texts.keys, run: keys },
    ...usePageKeys(),
  ])
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {texts.skip}
      </a>
      <TopBar {...{ navigationId, isNarrow }} onSearch={search} onKeys={keys} />
      <Navigation id={navigationId} isNarrow={isNarrow} />
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
      <ToastRegion />
      {dialog === 'search' && <Search onClose={close} />}
      <Suspense>{dialog === 'keys' && <KeysDialog onClose={close} />}</Suspense>
    </div>
  )
}

function usePageKeys() {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const navigate = useNavigate()
  return pagesFor(person.role).flatMap((page) => {
    if (!page.key) return []
    const to = addressOf(page, person, clinicId)
    return [
      { keys: `g ${page.key}`, label: texts.goTo(page.title), run: () => void navigate({ to }) },
    ]
  })
}
