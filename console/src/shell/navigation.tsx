import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { Icon } from '../parts/icon.tsx'
import { FailingBadge, FaultsBadge } from './attention-badges.tsx'
import { addressOf, useClinicId } from './clinic.ts'
import { ClinicSwitcher } from './clinic-switcher.tsx'
import { type ConsolePage, type PageGroup, pagesFor } from './pages.ts'
import { usePersonHere } from './person.ts'
import { shellTexts as texts } from './shell.texts.ts'
import { WaitingBadge } from './waiting.tsx'

const groups = Object.keys(texts.groups) as PageGroup[]

/** Shows the pages that the user may open, in groups. On narrow screens it is a drawer. */
export function Navigation({ id, isNarrow }: { id: string; isNarrow: boolean }) {
  const drawer = useRef<HTMLElement>(null)
  const pages = pagesFor(usePersonHere().role)
  const close = () => isNarrow && drawer.current?.hidePopover()
  return (
    <nav
      ref={drawer}
      id={id}
      className="navigation"
      aria-label={texts.menu}
      popover={isNarrow ? 'auto' : undefined}
    >
      {isNarrow && <ClinicSwitcher />}
      {groups.map((group) => (
        <NavigationGroup
          key={group}
          group={group}
          pages={pages.filter(({ navigation }) => navigation?.group === group)}
          onNavigate={close}
        />
      ))}
    </nav>
  )
}

interface NavigationGroupProps {
  readonly group: PageGroup
  readonly pages: readonly ConsolePage[]
  readonly onNavigate: () => void
}

function NavigationGroup({ group, pages, onNavigate }: NavigationGroupProps) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  if (pages.length === 0) return null
  return (
    <div>
      {texts.groups[group] && <h2>{texts.groups[group]}</h2>}
      <ul>
        {pages.map((page) => (
          <li key={page.path}>
            <Link
              to={addressOf(page, person, clinicId)}
              activeOptions={{ exact: page.path === '/', includeSearch: false }}
              preload="intent"
              onClick={onNavigate}
            >
              {page.navigation && <Icon name={page.navigation.icon} />}
              {page.title}
              {page.navigation?.badge === 'waiting' && <WaitingBadge />}
              {page.navigation?.badge === 'failing' && <FailingBadge />}
              {page.navigation?.badge === 'faults' && <FaultsBadge />}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}
