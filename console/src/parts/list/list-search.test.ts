import { describe, expect, test } from 'vitest'
import { pageQuery, readListView, writeSort } from './list-search.ts'
import {
  choiceParameter,
  flagParameter,
  idParameter,
  textParameter,
  textsParameter,
} from './parameters.ts'

const options = {
  filters: {
    search: textParameter(20),
    role: choiceParameter(['nurse', 'doctor']),
    department: idParameter,
    confirmed: flagParameter,
    action: textsParameter(20, 3),
  },
  sortable: ['full_name', 'id'],
  sort: { column: 'full_name', direction: 'asc' as const },
}
const start = { filters: {}, sort: options.sort, position: {}, limit: 20 }

describe('reading the view of a list from its URL', () => {
  test('returns filters, order and position', () => {
    const view = readListView(options, {
      search: 5,
      role: 'nurse',
      department: 7,
      confirmed: false,
      action: 'user.blocked',
      sort: '-id',
      limit: 50,
      page: 3,
    })
    expect(view).toEqual({
      filters: {
        search: '5',
        role: 'nurse',
        department: 7,
        confirmed: false,
        action: ['user.blocked'],
      },
      sort: { column: 'id', direction: 'desc' },
      position: { page: 3 },
      limit: 50,
    })
    expect(writeSort(view.sort)).toBe('-id')
    expect(pageQuery(view)).toEqual({ limit: 50, page: 3 })
  })

  test.each([
    { search: '' },
    { search: 'x'.repeat(21) },
    { search: { markup: '<b>' } },
    { role: 'owner' },
    { role: ['nurse'] },
    { department: 'seven' },
    { department: -1 },
    { department: 1.5 },
    { department: 2 ** 60 },
    { confirmed: 'yes' },
    { confirmed: null },
    { action: [] },
    { action: ['a', 'b', 'c', 'd'] },
    { action: [{}] },
    { action: null },
    { sort: 'password_hash' },
    { sort: '--id' },
    { sort: ['id'] },
    { limit: 7 },
    { limit: '20' },
    { page: 0 },
    { page: 1 },
    { page: 501 },
    { page: 'last' },
    { after: '' },
    { after: {} },
    { unknown: 'parameter' },
  ])('ignores %j', (search) => {
    expect(readListView(options, search)).toEqual(start)
  })

  test('uses the cursor if the URL also contains a page number', () => {
    expect(readListView(options, { after: 'cursor', page: 2 }).position).toEqual({
      after: 'cursor',
    })
  })
})
