import { Icon } from '../parts/icon.tsx'
import type { IconName } from '../parts/icons.ts'
import { Menu } from '../parts/menu.tsx'
import type { ThemeChoice } from '../session/channel.ts'
import { chooseTheme, THEMES, useTheme } from './looks.ts'
import { shellTexts as texts } from './shell.texts.ts'

const icons: Readonly<Record<ThemeChoice, IconName>> = {
  light: 'sun',
  dark: 'moon',
  system: 'monitor',
}

/** A menu to choose the theme. */
export function ThemeMenu() {
  const current = useTheme()
  const items = THEMES.map((theme) => ({
    label: texts.theme[theme],
    icon: icons[theme],
    checked: theme === current,
    onSelect: () => chooseTheme(theme),
  }))
  return (
    <Menu className="plain" label={texts.theme.label} items={items}>
      <Icon name={icons[current]} />
    </Menu>
  )
}
