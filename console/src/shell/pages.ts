/** Every page of the console for people who are signed in. Routes, navigation, keys and search follow from it. */
import type { ComponentType } from 'react'
import type { IconName } from '../parts/icons.ts'
import { ROLES, type Role } from '../words/roles.ts'
import { shellTexts } from './shell.texts.ts'

/** A group of the navigation. */
export type PageGroup = keyof typeof shellTexts.groups

/** A page of the console. Its module exports the component as `Page`. */
export interface ConsolePage {
  readonly title: string
  /** The path behind the clinic of a superadmin. A page of one record has parameters, such as `/webhooks/$id`. */
  readonly path: string
  readonly load: () => Promise<{ Page: ComponentType }>
  readonly roles: readonly Role[]
  /** True for pages of the whole platform, which have no clinic in their address. */
  readonly isPlatform?: boolean
  /** Its place in the navigation. A page without one is reached from other pages. */
  readonly navigation?: { readonly group: PageGroup; readonly icon: IconName }
  /** The letter that leads to it after `g`. */
  readonly key?: string
}

const titles = shellTexts.pages

/** The pages in the order of the navigation. */
export const pages: readonly ConsolePage[] = [
  {
    title: titles.account,
    path: '/account',
    load: () => import('../pages/account/account.tsx'),
    roles: ROLES,
    navigation: { group: 'personal', icon: 'account' },
    key: 'm',
  },
]

/** The pages that a role may see. */
export const pagesFor = (role: Role): readonly ConsolePage[] =>
  pages.filter(({ roles }) => roles.includes(role))
