/** Every page of the console for people who are signed in. Routes, navigation, keys and search follow from it. */
import type { ComponentType } from 'react'
import type { IconName } from '../parts/icons.ts'
import { ROLES, type Role } from '../words/roles.ts'
import { shellTexts } from './shell.texts.ts'

/** A group of the navigation. */
export type PageGroup = keyof typeof shellTexts.groups

/** A number beside a page of the navigation. */
export type NavigationBadge = 'waiting'

/** A page of the console. Its module exports the component as `Page`. */
export interface ConsolePage {
  readonly title: string
  /** The path after the clinic of a superadmin. A page of one record has parameters, such as `/webhooks/$id`. */
  readonly path: string
  readonly load: () => Promise<{ Page: ComponentType }>
  readonly roles: readonly Role[]
  /** True for pages of the whole platform, which have no clinic in their address. */
  readonly isPlatform?: boolean
  /** Its place in the navigation. A page without one is reached from other pages. */
  readonly navigation?: {
    readonly group: PageGroup
    readonly icon: IconName
    /** The number that stands beside the title. */
    readonly badge?: NavigationBadge
  }
  /** The letter that leads to it after `g`. */
  readonly key?: string
}

const titles = shellTexts.pages

/** The pages in the order of the navigation. */
export const pages: readonly ConsolePage[] = [
  {
    title: titles.overview,
    path: '/overview',
    load: () => import('../pages/overview/overview.tsx'),
    roles: ['superadmin', 'admin'],
    navigation: { group: 'main', icon: 'overview' },
    key: 'o',
  },
  {
    title: titles.users,
    path: '/users',
    load: () => import('../pages/users/users.tsx'),
    roles: ['superadmin', 'admin', 'auditor'],
    navigation: { group: 'people', icon: 'users', badge: 'waiting' },
    key: 'u',
  },
  {
    title: titles.approvals,
    path: '/users/approvals',
    load: () => import('../pages/users/approvals.tsx'),
    roles: ['superadmin', 'admin'],
  },
  {
    title: titles.departments,
    path: '/departments',
    load: () => import('../pages/departments/departments.tsx'),
    roles: ['superadmin', 'admin', 'auditor'],
    navigation: { group: 'people', icon: 'departments' },
    key: 'd',
  },
  {
    title: titles.audit,
    path: '/audit',
    load: () => import('../pages/audit/audit.tsx'),
    roles: ['superadmin', 'admin', 'auditor'],
    navigation: { group: 'records', icon: 'audit' },
    key: 'a',
  },
  {
    title: titles.settings,
    path: '/settings',
    load: () => import('../pages/settings/settings.tsx'),
    roles: ['superadmin', 'admin', 'auditor'],
    navigation: { group: 'clinic', icon: 'settings' },
    key: 's',
  },
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
