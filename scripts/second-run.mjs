/**
 * Prints the test files to run on another PostgreSQL as well: so few that each statement of the
 * service is run again, with each of its outcomes, that the first run has seen.
 *
 * `node scripts/second-run.mjs <report of the first run> <folder of what it recorded>`
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Files that run every statement which any file runs, preferring what is new in a second of its time.
 * Greedy, and thus within a logarithm of the shortest.
 *
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

/** What the first run has recorded, with how long each file took. */
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
  const recorded = readRecords(process.argv[2], process.argv[3])
  const chosen = covering(recorded)
  const total = new Set(recorded.flatMap(({ statements }) => statements)).size
  console.error(
    `${chosen.length} of ${recorded.length} files run all ${total} statements, by text and outcome`,
  )
  for (const file of chosen) console.log(path.relative(process.cwd(), file))
  if (total === 0) process.exitCode = 1
}
