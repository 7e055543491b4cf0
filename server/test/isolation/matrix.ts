/** Runs each line of the access table as every role, on the role's own tenant and on a foreign tenant. */
import { beforeAll, describe, expect, test } from 'vitest'
import { BUILT, nameOf } from '../contract/operations.ts'
import { openService, type Service } from '../support/service.ts'
import { MARK } from './furnish.ts'
import type { Line, Statuses } from './lines.ts'
import { CALLERS, type CallerKind, openScene, type Scene, type Target } from './scene.ts'
import { TABLE } from './table.ts'

/** @param prepare changes the service's database before the first call */
export function runTable(prepare: (service: Service) => Promise<void>): void {
  let scene: Scene
  let before: Record<string, string[]>

  beforeAll(async () => {
    const service = await openService({ background: ['payments'] })
    await prepare(service)
    scene = await openScene(service)
    before = await scene.snapshot()
  })

  test('the matrix has a line for every operation', () => {
    const names = new Set(TABLE.map((line) => line.name))
    expect([...names].sort()).toEqual(BUILT.map(nameOf).sort())
  })

  test('the foreign clinic has rows in every table', () => {
    // Ignores refusals, which wait in their table for up to a minute. test/journal/refusals.test.ts checks their
    // isolation.
    const { refusals: _, ...kept } = before
    for (const [table, rows] of Object.entries(kept))
      expect([table, rows.length > 0]).toEqual([table, true])
  })

  describe.each(TABLE.map((line) => ({ line, title: titleOf(line) })))('$title', ({ line }) => {
    test("on a target in the caller's tenant", async () => {
      expect(await statusesOf(line, () => scene.freshTarget(scene.own, line.name))).toEqual(
        line.own,
      )
    })

    if (line.foreign)
      test('on a target in a foreign tenant', async () => {
        // Calls of a superadmin succeed on every tenant. They target a third clinic, so that the foreign clinic stays
        // unchanged.
        const targetFor = async (kind: CallerKind) =>
          kind === 'superadmin' ? scene.freshTarget(scene.third, line.name) : scene.foreignTarget
        expect(await statusesOf(line, targetFor)).toEqual(line.foreign)
      })
  })

  test('all these calls leave every row of the foreign clinic unchanged', async () => {
    expect(await scene.snapshot()).toEqual(before)
  })

  async function statusesOf(
    line: Line,
    targetFor: (kind: CallerKind) => Promise<Target>,
  ): Promise<Statuses> {
    const statuses: Partial<Statuses> = {}
    for (const kind of CALLERS) statuses[kind] = await call(line, kind, await targetFor(kind))
    return statuses as Statuses
  }

  async function call(line: Line, kind: CallerKind, target: Target): Promise<number> {
    const token = await scene.tokenOf(kind, line.name)
    const { path: values = {}, ...options } = line.aim(target, token)
    const [method = '', template = ''] = line.name.split(' ')
    const path = template.replaceAll(/\{(\w+)\}/g, (_, key) => String(values[key]))
    const answer = await scene.service.call(method, path, { token, ...options })
    // A superadmin may see every tenant. A response to any other role must contain no data of the foreign tenant.
    if (kind !== 'superadmin')
      expect([kind, JSON.stringify(answer.body ?? null).includes(MARK)]).toEqual([kind, false])
    return answer.status
  }
}

const titleOf = ({ name, what }: Line) => (what ? `${name}, ${what}` : name)
