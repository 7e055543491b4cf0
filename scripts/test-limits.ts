/** A reporter that enforces a budget for test files. In CI, a file over its budget fails the run. */
import type { Reporter, TestModule } from 'vitest/node'

/** The maximum seconds for a test file. */
const MAX_SECONDS = 20
/** The total seconds of all files on the reference machine, in the run that set the budgets. */
const USUAL_TOTAL_SECONDS = 1770
/** The maximum number of services that a file may open. */
const MAX_SERVICES = 3

declare module 'vitest' {
  interface TaskMeta {
    /** The number of services that the file has opened. */
    services?: number
  }
}

export interface MeasuredFile {
  name: string
  seconds: number
  services: number
}

/** The higher limits for a named file. */
export type Exception = Partial<Omit<MeasuredFile, 'name'>>

/** Returns how many times slower than usual the whole run was, at least 1. A slow machine slows down every file. */
function slowness(files: readonly MeasuredFile[]): number {
  const total = files.reduce((sum, { seconds }) => sum + seconds, 0)
  return Math.max(1, total / USUAL_TOTAL_SECONDS)
}

/** Returns a line for each file that exceeds its budget. Time budgets are multiplied by the run's slowness. */
export function overBudget(
  files: readonly MeasuredFile[],
  exceptions: Readonly<Record<string, Exception>>,
): string[] {
  const factor = slowness(files)
  return files.flatMap(({ name, seconds, services }) => {
    const allowed = { seconds: MAX_SECONDS, services: MAX_SERVICES, ...exceptions[name] }
    const limit = allowed.seconds * factor
    return [
      ...(seconds > limit
        ? [`${name} took ${seconds.toFixed(1)} s of ${Math.round(limit)} s.`]
        : []),
      ...(services > allowed.services
        ? [`${name} opened ${services} services of ${allowed.services}.`]
        : []),
    ]
  })
}

export default class TestLimits implements Reporter {
  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const { EXCEPTIONS } = await import('./test-limits-exceptions.ts')
    const files = modules.map((module) => ({
      name: module.relativeModuleId,
      seconds: module.diagnostic().duration / 1000,
      services: module.meta().services ?? 0,
    }))
    const lines = overBudget(files, EXCEPTIONS)
    if (lines.length === 0) return
    for (const line of lines) console.log(line)
    console.log(
      'Share a service within the file or split the file. An exception goes into scripts/test-limits-exceptions.ts.',
    )
    process.exitCode = 1
  }
}
