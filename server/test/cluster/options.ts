/** The arguments of `npm run chaos:cluster`. */
import { parseArgs } from 'node:util'

/** The choices of a run. */
export interface ClusterOptions {
  /** The names of the scenarios to run, in the order of the definition. */
  scenarios: readonly string[]
  /** The version of the etcd API that Patroni uses. */
  etcd: 2 | 3
  /** The seconds for which the freeze scenarios stop the leader. */
  freezeSeconds: number
  /** True to keep the folder with the logs of all programs. */
  keep: boolean
}

const USAGE = `Usage: npm run chaos:cluster -- [options] [scenario …]

  --etcd 2|3      version of the etcd API for Patroni (3)
  --freeze N      seconds for which the leader is frozen (45)
  --keep          keep the folder with the logs

Scenarios (all by default): `

/**
 * Reads the arguments.
 * @throws Error with the usage, for unknown scenarios or options
 */
export function readOptions(args: readonly string[], known: readonly string[]): ClusterOptions {
  const usage = USAGE + known.join(', ')
  const { values, positionals } = parsed(args, usage)
  const unknown = positionals.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`Unknown scenario: ${unknown.join(', ')}.\n\n${usage}`)
  const freezeSeconds = Number(values.freeze)
  if (!(freezeSeconds >= 1 && freezeSeconds <= 600))
    throw new Error(`--freeze must be a number from 1 to 600.\n\n${usage}`)
  if (values.etcd !== '2' && values.etcd !== '3')
    throw new Error(`--etcd must be 2 or 3.\n\n${usage}`)
  return {
    scenarios:
      positionals.length === 0 ? known : known.filter((name) => positionals.includes(name)),
    etcd: values.etcd === '2' ? 2 : 3,
    freezeSeconds,
    keep: values.keep,
  }
}

function parsed(args: readonly string[], usage: string) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        etcd: { type: 'string', default: '3' },
        freeze: { type: 'string', default: '45' },
        keep: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${usage}`)
  }
}
