/** Runs the table: each line as every role, on the own tenant and on the foreign one. */
import { beforeAll, describe, expect, test } from 'vitest'
import { BUILT, nameOf } from '../contract/operations.ts'
import { openService, type Service } from '../support/service.ts'
import { MARK } from './furnish.ts'
import type { Line, Statuses } from './lines.ts'
import { CALLERS, type CallerKind, openScene, type Scene, type Target } from './scene.ts'
import { TABLE } from './table.ts'

/** @param prepare changes the service's database before anything is called, and answers nothing */
export function runTable(prepare: (service: Service) => Promise<void>): void {
  let scene: Scene
  let before: Record<string, string[]>

  beforeAll(async () => {
    const service = await openService({ background: ['payments'] })
    await prepare(service)
    scene = await openScene(service)
    before = await scene.snapshot()
  })

  test('the table has a line for every operation that is built', () => {
    const names = new Set(TABLE.map((line) => line.name))
    expect([...names].sort()).toEqual(BUILT.map(nameOf).sort())
  })

  test('the foreign clinic has rows in every table', () => {
    // Refusals wait there for a minute at most; test/journal/refusals.test.ts keeps them apart.
    const { refusals: _, ...kept } = before
    for (const [table, rows] of Object.entries(kept))
      expect([table, rows.length > 0]).toEqual([table, true])
  })

  describe.each(TABLE.map((line) => ({ line, title: titleOf(line) })))('$title', ({ line }) => {
    test('on the own tenant', async () => {
      expect(await statusesOf(line, () => scene.freshTarget(scene.own, line.name))).toEqual(
        line.own,
      )
    })

    if (line.foreign)
      test('on a foreign tenant', async () => {
        // What a superadmin does succeeds; for them it is another clinic than the untouched one.
        const targetFor = async (kind: CallerKind) =>
          kind === 'superadmin' ? scene.freshTarget(scene.third, line.name) : scene.foreignTarget
        expect(await statusesOf(line, targetFor)).toEqual(line.foreign)
      })
  })

  test('after all of it every row of the foreign clinic is as before', async () => {
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
    // A superadmin may see every tenant; nobody else sees a trace of the foreign one.
    if (kind !== 'superadmin')
      expect([kind, JSON.stringify(answer.body ?? null).includes(MARK)]).toEqual([kind, false])
    return answer.status
  }
}

const titleOf = ({ name, what }: Line) => (what ? `${name}, ${what}` : name)
