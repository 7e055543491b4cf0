import { Link, useNavigate } from '@tanstack/react-router'
import { CONSOLE_PATH } from '../api/prefix.ts'
import { Avatar } from '../parts/avatar.tsx'
import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'
import { session } from '../session/index.ts'
import { roleNames } from '../words/roles.ts'
import { addressOf, useClinicId } from './clinic.ts'
import { ClinicSwitcher } from './clinic-switcher.tsx'
import { usePersonHere } from './person.ts'
import { searchLabel } from './search-label.ts'
import { shellTexts as texts } from './shell.texts.ts'
import { ThemeMenu } from './theme-menu.tsx'

interface TopBarProps {
  readonly navigationId: string
  readonly isNarrow: boolean
  readonly onSearch: () => void
  readonly onKeys: () => void
}

/** The bar above every page. On narrow screens, the clinic's name moves into the navigation. */
export function TopBar({ navigationId, isNarrow, onSearch, onKeys }: TopBarProps) {
  const { demo_mode, role } = usePersonHere()
  const search = searchLabel(role)
  return (
    <header className="top-bar">
      {isNarrow && (
        <button
          type="button"
          className="plain"
          popoverTarget={navigationId}
          aria-label={texts.menu}
        >
          <Icon name="menu" />
        </button>
      )}
      <Link to="/" className="brand" aria-label={texts.home}>
        <img src={`${CONSOLE_PATH}/icon.svg`} width="24" height="24" alt="" />
        <span>Wardkeep</span>
      </Link>
      {!isNarrow && <ClinicSwitcher />}
      <button type="button" className="search-button" aria-label={search} onClick={onSearch}>
        <Icon name="search" />
        <span className="grow ellipsis">{search}</span>
        <kbd>Ctrl K</kbd>
      </button>
      {demo_mode && <span className="demo-mark">{texts.demo}</span>}
      <ThemeMenu />
      <AccountMenu onKeys={onKeys} />
    </header>
  )
}

function AccountMenu({ onKeys }: { onKeys: () => void }) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const navigate = useNavigate()
  const account = addressOf({ path: '/account' }, person, clinicId)
  const items = [
    { label: texts.myAccount, icon: 'account', onSelect: () => void navigate({ to: account }) },
    { label: texts.keys, icon: 'keyboard', onSelect: onKeys },
    { label: texts.signOut, icon: 'close', onSelect: () => session.signOut('chosen') },
  ] as const
  return (
    <Menu className="plain me" label={texts.account(person.full_name)} items={items}>
      <Avatar name={person.full_name} />
      <span className="me-name">
        <b className="ellipsis">{person.full_name}</b>
        <span className="small muted">{roleNames[person.role]}</span>
      </span>
    </Menu>
  )
}
