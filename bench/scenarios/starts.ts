/** The startup time of the service at the first and at later starts, and its idle memory. */
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { residentMb } from '../measure/process.ts'
import { median } from '../measure/statistics.ts'
import type { Line } from '../measure/table.ts'
import { startService } from '../service.ts'
import type { Scenario } from './scenario.ts'

const FIRST_LIMIT_S = 4
const LATER_LIMIT_S = 1.5
const MEMORY_LIMIT_MB = 200
const IDLE_MS = 5_000

export const starts: Scenario = async (environment, pace) => {
  const first: number[] = []
  const later: number[] = []
  const idle: number[] = []
  for (let round = 0; round < pace.rounds; round += 1) {
    const folder = environment.emptyFolder()
    try {
      const fresh = await startService(folder)
      first.push(fresh.readyMs)
      await fresh.stop()
      const again = await startService(folder)
      later.push(again.readyMs)
      await delay(IDLE_MS)
      idle.push(residentMb(again.pid))
      await again.stop()
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  return [
    seconds('first start until ready', median(first), FIRST_LIMIT_S),
    seconds('second start until ready', median(later), LATER_LIMIT_S),
    {
      name: 'memory of the idle service',
      ours: `${median(idle).toFixed(0)} MB`,
      limit: `${MEMORY_LIMIT_MB} MB`,
      ratio: median(idle) / MEMORY_LIMIT_MB,
      aim: { atMost: 1 },
    },
  ]
}

function seconds(name: string, ms: number, limit: number): Line {
  const took = ms / 1000
  return {
    name,
    ours: `${took.toFixed(2)} s`,
    limit: `${limit} s`,
    ratio: took / limit,
    aim: { atMost: 1 },
  }
}
