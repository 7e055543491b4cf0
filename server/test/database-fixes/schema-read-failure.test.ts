/** A failed read of the committed schema is repeated. */
import { expect, it } from 'vitest'
import { openGround } from '../../src/platform/schema/repairs/ground.ts'
import { type AskSchema, readCommitted } from '../../src/platform/schema/repairs/schema.ts'

const core = {
  openConnection() {
    throw new Error('nothing is repaired here')
  },
}
const atVersion =
  (version: number): AskSchema =>
  async <R>() =>
    [{ version }] as R[]

it('a database check reads a value again after a failed read, and caches the result of a successful read', async () => {
  const schema = await readCommitted()
  let reads = 0
  const ground = openGround(core, async () => {
    reads++
    if (reads === 1) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
    return { schema, version: 7 }
  })
  await expect(ground.committed(atVersion(7))).rejects.toThrow('too many open files')
  expect(await ground.committed(atVersion(7))).toBe(schema)
  expect(await ground.committed(atVersion(8))).toBeUndefined()
  expect(reads).toBe(2)
})
