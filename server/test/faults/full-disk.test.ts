/** The service logs to a full disk. The service and the commands continue without the log. */
import { expect, test, vi } from 'vitest'
import { migratedDatabase } from '../support/database.ts'
import { command, finished, PLAIN } from '../support/process.ts'
import { refusedPort } from '../support/refused-port.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

// Processes on a busy machine take their time to start.
vi.setConfig({ testTimeout: 150_000 })

/** Runs the command with these outputs redirected to a full disk. */
const onFullDisk = (outputs: string) => ({
  by: ['sh', '-c', `exec "$0" "$@" ${outputs}`],
})

test.skipIf(process.platform !== 'linux')(
  'the service continues to work when the disk with its log is full',
  async () => {
    const database = await migratedDatabase()
    const env = { ...PLAIN, DATABASE_URL: database.url, DATA_DIR: await scratch() }
    const port = await refusedPort()
    await port.free()
    const service = command(
      ['start'],
      { ...env, PORT: String(port.port) },
      onFullDisk('>/dev/full 2>/dev/full'),
    )
    const answers = async () =>
      (await fetch(`http://127.0.0.1:${port.port}/openapi.json`)).status === 200 || undefined
    await until('it answers', answers, 60_000)
    const verified = await finished(['keys', 'verify'], env, onFullDisk('2>/dev/full'))
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('data_keys') })
    expect(await answers()).toBe(true)
    service.signal('SIGTERM')
    expect(await service.ended).toEqual({ code: 0, signal: null })
  },
)
