import { expect, test } from 'vitest'
import { createDrafts } from './drafts.ts'

test('the store of drafts offers a draft to the same person after a new sign-in', () => {
  const drafts = createDrafts()
  drafts.belongTo('1:7')
  drafts.keep('users/add', { full_name: 'Nora' })
  drafts.belongTo('1:7')
  expect(drafts.offered('users/add')).toEqual({ full_name: 'Nora' })
  drafts.drop('users/add')
  expect(drafts.offered('users/add')).toBeUndefined()
})

test('the store of drafts drops the drafts when another person signs in', () => {
  const drafts = createDrafts()
  drafts.belongTo('1:7')
  drafts.keep('users/add', { full_name: 'Nora' })
  drafts.belongTo('2:7')
  drafts.belongTo('1:7')
  expect(drafts.offered('users/add')).toBeUndefined()
})

test('the store of drafts keeps no draft before somebody has signed in', () => {
  const drafts = createDrafts()
  drafts.keep('register', { full_name: 'Nora' })
  expect(drafts.offered('register')).toBeUndefined()
})
