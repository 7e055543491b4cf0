/** The page of a list: what may be asked, and how it is answered. */
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { pageOf, pageQuery, toPage } from './page.ts'

describe('the query of a page', () => {
  const query = pageQuery(['id', 'name'], { sort_by: 'name', sort_order: 'desc' })

  test('is bounded, with the defaults of the list', () => {
    expect(query.page).toMatchObject({ type: 'integer', minimum: 1, default: 1 })
    expect(query.limit).toMatchObject({ minimum: 1, maximum: 100, default: 20 })
    expect(query.sort_by).toMatchObject({ enum: ['id', 'name'], default: 'name' })
    expect(query.sort_order).toMatchObject({ enum: ['asc', 'desc'], default: 'desc' })
  })

  test('stays within what an offset can count', () => {
    const { maximum } = query.page as unknown as { maximum: number }
    expect(Number.isSafeInteger(maximum * 100)).toBe(true)
  })
})

describe('a page', () => {
  const items = ['a', 'b']

  test.each([
    [0, 20, 0],
    [1, 20, 1],
    [20, 20, 1],
    [21, 20, 2],
    [10_000, 100, 100],
    [7, 1, 7],
  ])('of %i by %i is one of %i pages', (total, limit, pages) => {
    const page = toPage({ page: 3, limit }, { items, total, estimated: false })
    expect(page).toEqual({ items, total, page: 3, limit, pages })
  })

  test('marks a total that is estimated, and only then', () => {
    const found = { items, total: 12_000, estimated: true }
    expect(toPage({ page: 1, limit: 20 }, found)).toMatchObject({
      total: 12_000,
      total_estimated: true,
    })
    expect(toPage({ page: 1, limit: 20 }, { ...found, estimated: false })).not.toHaveProperty(
      'total_estimated',
    )
  })

  test('is declared with every field, the mark alone being optional', () => {
    const schema = pageOf(Type.String()) as unknown as { required: string[]; properties: object }
    expect(Object.keys(schema.properties).sort()).toEqual([
      'items',
      'limit',
      'page',
      'pages',
      'total',
      'total_estimated',
    ])
    expect([...schema.required].sort()).toEqual(['items', 'limit', 'page', 'pages', 'total'])
  })
})
