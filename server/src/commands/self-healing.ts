import type { App } from '../app.ts'
import { asSentence, Problem } from '../lib/problems.ts'
import { StartupError } from '../lib/startup-error.ts'
import { withApp } from './service.ts'

type Scan = NonNullable<Awaited<ReturnType<App['features']['selfHealing']['scan']>>>
type Scanned = Scan['fixes'][number]

/** Scans now, with or without a running service. Exits with 1 if faults are left or another scan is running. */
export function scanNow({ json = false }: { json?: boolean }): Promise<void> {
  return withApp(async (app) => {
    const done = await app.features.selfHealing.scan()
    if (!done || done.fixes.some(isLeft)) process.exitCode = 1
    if (json) return JSON.stringify(done ?? null)
    return done
      ? inWords(done)
      : 'Another scan is running, so this one did not start. Try again when it has ended.'
  }, true)
}

/** Confirms a proposed fix. @throws StartupError if the fix is unknown or not proposed */
export function confirmCommand(key: string): Promise<void> {
  return withApp(async ({ features }) => {
    const fix = await features.selfHealing.service.confirmByKey(key).catch((error: unknown) => {
      throw error instanceof Problem ? new StartupError(`${key}: ${asSentence(error)}`) : error
    })
    if (fix.status === 'failed') process.exitCode = 1
    return line(fix)
  }, true)
}

const isLeft = ({ occurrences, unknown }: Scanned) => occurrences > 0 || unknown !== null

function inWords({ fixes, duration_ms }: Scan): string {
  const lines = fixes.filter((fix) => isLeft(fix) || fix.result).map(line)
  const summary = `Scanned for ${fixes.length} known faults in ${duration_ms} ms`
  return lines.length === 0 ? `${summary}. None was found.` : [`${summary}:`, ...lines].join('\n')
}

function line({ key, title, status, occurrences, reason, unknown, result }: Scanned): string {
  const parts = [
    occurrences > 0 ? `${occurrences} found, ${status === 'idle' ? 'for people' : status}` : '',
    result ? `${result.repaired} repaired` : '',
    reason ?? '',
    unknown === null ? '' : `unknown: ${unknown}`,
  ]
  return `${key}: ${title}; ${parts.filter((part) => part !== '').join('; ')}`
}
