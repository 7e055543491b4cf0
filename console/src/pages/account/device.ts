/** Names devices by the `User-Agent` header of their browsers. */
import { accountTexts } from './account.texts.ts'

const texts = accountTexts.sessions

/** The first match counts, because most browsers also mention other browsers in the header. */
const BROWSERS: readonly [RegExp, string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\bChrome\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

const SYSTEMS: readonly [RegExp, string][] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Returns the browser and system of a `User-Agent` header, or the start of an unusual one. */
export function deviceName(userAgent: string | null): string {
  if (!userAgent) return texts.unknownDevice
  const browser = firstMatch(BROWSERS, userAgent)
  const system = firstMatch(SYSTEMS, userAgent)
  if (browser && system) return texts.on(browser, system)
  return browser ?? userAgent.slice(0, 60)
}

const firstMatch = (names: readonly [RegExp, string][], text: string): string | undefined =>
  names.find(([pattern]) => pattern.test(text))?.[1]
