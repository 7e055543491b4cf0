/** Tests that the log output contains every line in order, even after the output was blocked for a while. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { scratch } from '../../../test/support/scratch.ts'
import { until } from '../../../test/support/until.ts'
import { type Lines, openLines } from './lines.ts'

/** Opens both ends of a pipe that rejects writes when it is full. */
async function openPipe(): Promise<number> {
  const path = join(await scratch(), 'pipe')
  execFileSync('mkfifo', [path])
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  onTestFinished(() => closeSync(pipe))
  return pipe
}

const isRefused = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EAGAIN'

/** Reads everything that is currently in the pipe. */
function drain(pipe: number): string {
  const bytes = Buffer.alloc(65_536)
  let text = ''
  for (;;)
    try {
      text += bytes.toString('latin1', 0, readSync(pipe, bytes))
    } catch (error) {
      if (isRefused(error)) return text
      throw error
    }
}

function fill(pipe: number): void {
  for (const size of [4_096, 1])
    try {
      for (;;) writeSync(pipe, Buffer.alloc(size, ' '))
    } catch (error) {
      if (!isRefused(error)) throw error
    }
}

const line = (number: number) => `${String(number).padStart(1_023, '0')}\n`

function writeMany(lines: Lines, count: number): string {
  const all = Array.from({ length: count }, (_, number) => line(number))
  for (const one of all) lines.write(one)
  return all.join('')
}

async function arrived(pipe: number, length: number): Promise<string> {
  let text = ''
  await until('the lines', () => {
    text += drain(pipe).trimStart()
    return text.length >= length || undefined
  })
  return text
}

test('log lines are written completely and in order, in small and large batches', async () => {
  const pipe = await openPipe()
  const lines = openLines(pipe)
  lines.write(line(0))
  expect(await arrived(pipe, 1_024)).toBe(line(0))
  const many = writeMany(lines, 500)
  expect(await arrived(pipe, many.length)).toBe(many)
})

test('log lines wait while the output is blocked, up to the buffer limit', async () => {
  const pipe = await openPipe()
  const lines = openLines(pipe, 100 * 1_024)
  fill(pipe)
  const many = writeMany(lines, 200)
  // The first write contained eight lines, which the full pipe has rejected.
  const held = 108 * 1_024
  const text = await arrived(pipe, held + 1)
  expect(text.slice(0, held)).toBe(many.slice(0, held))
  expect(JSON.parse(text.slice(held))).toMatchObject({ level: 'warn', lost: 92 })
})

test('log lines are flushed when the process ends, unless the output is full', async () => {
  const pipe = await openPipe()
  const lines = openLines(pipe)
  lines.write(line(1))
  lines.end()
  expect(drain(pipe)).toBe(line(1))
  fill(pipe)
  lines.write(line(2))
  lines.end()
  expect(drain(pipe).trim()).toBe('')
})
