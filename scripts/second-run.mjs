/**
 * Prints the test files to run on a second PostgreSQL: few files that together repeat each statement of the first run,
 * with each of its results. `node scripts/second-run.mjs <report of the first run> <folder of its records>`
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Returns files that together run every recorded statement, preferring those with the most new statements per second.
 * The greedy choice takes at most a logarithmic factor longer than the best one.
 * @param {readonly { file: string, seconds: number, statements: readonly string[] }[]} recorded
 * @returns {string[]}
 */
export function covering(recorded) {
  const missing = new Set(recorded.flatMap(({ statements }) => statements))
  const chosen = []
  while (missing.size > 0) {
    const [best] = recorded
      .map(({ file, seconds, statements }) => {
        const fresh = statements.filter((statement) => missing.has(statement))
        return { file, fresh, worth: fresh.length / Math.max(seconds, 1) }
      })
      .sort((one, other) => other.worth - one.worth || one.file.localeCompare(other.file))
    for (const statement of best.fresh) missing.delete(statement)
    chosen.push(best.file)
  }
  return chosen.sort()
}

/**
 * Returns whether the file runs without a browser. Tests of pages are slow, and their statements consist of the same
 * parts as those of the API tests.
 * @param {{ file: string }} recorded
 */
export const needsNoBrowser = ({ file }) => !file.endsWith('-in-browser.test.ts')

/** Returns the records of the first run, with the duration of each file. */
function readRecords(report, folder) {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  const seconds = new Map(
    testResults.map(({ name, startTime, endTime }) => [name, (endTime - startTime) / 1000]),
  )
  return readdirSync(folder).map((name) => {
    const { file, statements } = JSON.parse(readFileSync(path.join(folder, name), 'utf8'))
    return { file, statements, seconds: seconds.get(file) ?? 1 }
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const recorded = readRecords(process.argv[2], process.argv[3]).filter(needsNoBrowser)
  const chosen = covering(recorded)
  const total = new Set(recorded.flatMap(({ statements }) => statements)).size
  console.error(
    `${chosen.length} of ${recorded.length} files without a browser run all their ${total} statements, by text and outcome`,
  )
  for (const file of chosen) console.log(path.relative(process.cwd(), file))
  if (total === 0) process.exitCode = 1
}
