/** What the fixes of the database stand on is read again where it could not be read. */
import { expect, it } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { openGround } from '../../src/platform/db/fixes/ground.ts'
import { type Ask, readCommitted } from '../../src/platform/db/fixes/schema.ts'

const core = {
  openConnection() {
    throw new Error('nothing is repaired here')
  },
  clock: systemTime,
}
const atVersion =
  (version: number): Ask =>
  async <R>() =>
    [{ version }] as R[]

it('a read that failed is forgotten, and one that did not is kept', async () => {
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
