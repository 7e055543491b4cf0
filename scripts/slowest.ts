/** A reporter that names the slowest files and tests after a long run. */
import type { Reporter, TestModule } from 'vitest/node'

const SHOWN = 10
/** The report is printed only if the total time of all files is at least this many seconds. */
const LONG_RUN = 60

interface Timed {
  name: string
  ms: number
}

/** Returns the lines to print for a run, or none for a short run. */
export function slowest(files: readonly Timed[], tests: readonly Timed[]): string[] {
  const total = files.reduce((sum, { ms }) => sum + ms, 0)
  if (total < LONG_RUN * 1000) return []
  const top = (all: readonly Timed[]) =>
    all
      .toSorted((one, other) => other.ms - one.ms)
      .slice(0, SHOWN)
      .map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`)
  return [`Slowest of ${files.length} files:`, ...top(files), 'Slowest tests:', ...top(tests)]
}

export default class Slowest implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => {
      const { duration, collectDuration, setupDuration } = module.diagnostic()
      return { name: module.relativeModuleId, ms: duration + collectDuration + setupDuration }
    })
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        name: `${module.relativeModuleId} > ${test.fullName}`,
        ms: test.diagnostic()?.duration ?? 0,
      })),
    )
    for (const line of slowest(files, tests)) console.log(line)
  }
}
