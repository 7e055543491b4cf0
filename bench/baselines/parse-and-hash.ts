/** The baseline of verification: parses each line of a file, and hashes it once. */
import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { answer } from './answer.ts'

/** Returns the seconds that it takes. */
answer(async ({ file }: { file: string }) => {
  const start = performance.now()
  for await (const line of createInterface(createReadStream(file))) {
    JSON.parse(line)
    hash('sha256', line, 'buffer')
  }
  return (performance.now() - start) / 1000
})
