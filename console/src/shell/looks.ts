/** The appearance of the console in this browser: its theme and the height of rows. The account stores both as well. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { api, take } from '../api/client.ts'
import { showToast } from '../parts/toasts.ts'
import type { ThemeChoice } from '../session/channel.ts'
import { type Person, setTheme } from '../session/index.ts'
import { personKey } from '../session/session.ts'
import { readTheme } from '../session/theme.ts'
import { shellTexts } from './shell.texts.ts'

/** The themes to choose from. */
export const THEMES: readonly ThemeChoice[] = ['light', 'dark', 'system']

/** The heights of rows to choose from. */
export const DENSITIES = ['compact', 'comfortable'] as const

/** A height of rows that a person chose. */
export type Density = (typeof DENSITIES)[number]

const DENSITY_KEY = 'density'
/** The storage key for the user whose appearance settings this browser has. */
const OWNER_KEY = 'looks-of'

const preferencesQuery = {
  queryKey: ['preferences'],
  queryFn: () => take(api.GET('/api/preferences')),
}

/** Returns the chosen theme. Re-renders when it changes, in this tab or another one. */
export const useTheme = (): ThemeChoice => useSyncExternalStore(followRoot, readTheme)

/** Returns the chosen row height. Re-renders when it changes. */
export const useDensity = (): Density => useSyncExternalStore(followRoot, readDensity)

/** Changes the theme in every tab, and stores it in the account. */
export function chooseTheme(theme: ThemeChoice): void {
  setTheme(theme)
  void api.PUT('/api/preferences/theme', { body: { theme } }).catch(reportUnsaved)
}

/** Returns a function that changes the row height and stores it in the account. */
export function useChooseDensity(): (density: Density) => Promise<void> {
  const queries = useQueryClient()
  return async (density) => {
    applyDensity(density)
    try {
      const { settings } = await queries.fetchQuery(preferencesQuery)
      await api.PUT('/api/preferences', { body: { settings: { ...settings, density } } })
    } catch {
      reportUnsaved()
    }
  }
}

/**
 * Applies the appearance settings of this browser. If another user has used the browser since, applies those of the
 * account.
 */
export function useLooksOf(person: Person | undefined): void {
  const queries = useQueryClient()
  const owner = person && personKey(person)
  useEffect(() => {
    applyDensity(localStorage.getItem(DENSITY_KEY))
    if (!owner || localStorage.getItem(OWNER_KEY) === owner) return
    void queries.fetchQuery(preferencesQuery).then(
      ({ theme, settings, updated_at }) => {
        localStorage.setItem(OWNER_KEY, owner)
        if (updated_at === null) return
        setTheme(theme)
        applyDensity(settings.density)
      },
      // Keeps the settings of this browser if the request fails.
      () => undefined,
    )
  }, [owner, queries])
}

function applyDensity(wanted: unknown): void {
  const density: Density = wanted === 'comfortable' ? 'comfortable' : 'compact'
  localStorage.setItem(DENSITY_KEY, density)
  document.documentElement.dataset.density = density
}

const readDensity = (): Density =>
  document.documentElement.dataset.density === 'comfortable' ? 'comfortable' : 'compact'

const reportUnsaved = (): void => showToast(shellTexts.looksUnsaved)

function followRoot(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme', 'data-density'] })
  return () => observer.disconnect()
}
