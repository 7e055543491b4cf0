/** The theme that a person chose, in every tab. `theme.js` applies it before the first paint of a page. */
import type { Channel, ThemeChoice } from './channel.ts'

const STORED = 'theme'

/** Follows the choice of other tabs. Returns the function that makes a choice for all of them. */
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

/** Returns the choice of this browser. */
export function readTheme(): ThemeChoice {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

function apply(theme: ThemeChoice): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
