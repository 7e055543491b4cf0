/**
 * The chosen theme, which is the same in every tab. `theme.js` applies the theme before a page is painted for the first
 * time.
 */
import type { Channel, ThemeChoice } from './channel.ts'

const STORED = 'theme'

/** Applies themes that are chosen in other tabs. Returns the function that sets the theme in all tabs. */
export function followTheme(channel: Channel): (theme: ThemeChoice) => void {
  channel.listen((message) => {
    if (message.type === 'theme') apply(message.theme)
  })
  return (theme) => {
    if (theme === 'system') localStorage.removeItem(STORED)
    else localStorage.setItem(STORED, theme)
    apply(theme)
    channel.publish({ type: 'theme', theme })
  }
}

/** Returns the theme that was chosen in this browser. */
export function readTheme(): ThemeChoice {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

function apply(theme: ThemeChoice): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
