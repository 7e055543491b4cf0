import type { Fix } from './data.ts'
import { healingTexts } from './self-healing.texts.ts'

/** Returns the words for who repairs a fault. */
export function mendingOf({ automatic, repairable }: Fix): string {
  if (!repairable) return healingTexts.mending.manual
  return automatic ? healingTexts.mending.automatic : healingTexts.mending.confirmed
}
