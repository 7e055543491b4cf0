/**
 * Every page of the console for signed-in users. The routes, the navigation, the shortcuts and the search are derived
 * from this table.
 */
import type { ComponentType } from 'react'
import type { IconName } from '../parts/icons.ts'
import { ROLES, type Role } from '../words/roles.ts'
import { shellTexts } from './shell.texts.ts'

/** A group of the navigation. */
export type PageGroup = keyof typeof shellTexts.groups

/** A number beside the name of a page in the navigation. */
export type NavigationBadge = 'waiting' | 'failing' | 'faults'

/** A page of the console. Its module exports the component as `Page`. */
export interface ConsolePage {
  readonly title: string
  /**
   * The path of the page, after the clinic in the URL of a superadmin. A page for one record has parameters, such as
   * `/webhooks/$id`.
   */
  readonly path: string
  readonly load: () => Promise<{ Page: ComponentType }>
  readonly roles: readonly Role[]
  /** True for pages about the whole platform. Their URL contains no clinic. */
  readonly isPlatform?: boolean
  /** The place of the page in the navigation. Other pages link to a page without a place. */
  readonly navigation?: {
    readonly group: PageGroup
    readonly icon: IconName
    /** The number beside the name of the page. */
    readonly badge?: NavigationBadge
  }
  /** The letter that opens the page after `g`. */
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
    title: titles.webhooks,
    path: '/webhooks',
    load: () => import('../pages/webhooks/webhooks.tsx'),
    roles: ['superadmin', 'admin'],
    navigation: { group: 'connections', icon: 'webhooks', badge: 'failing' },
    key: 'w',
  },
  {
    title: titles.webhook,
    path: '/webhooks/$id',
    load: () => import('../pages/webhooks/webhook.tsx'),
    roles: ['superadmin', 'admin'],
  },
  {
    title: titles.payments,
    path: '/payments',
    load: () => import('../pages/payments/payments.tsx'),
    roles: ['superadmin', 'admin', 'auditor'],
    navigation: { group: 'connections', icon: 'payments' },
    key: 'p',
  },
  {
    title: titles.paymentNotifications,
    path: '/payments/notifications',
    load: () => import('../pages/payments/notifications.tsx'),
    roles: ['superadmin', 'admin', 'auditor'],
  },
  {
    title: titles.backups,
    path: '/backups',
    load: () => import('../pages/backups/backups.tsx'),
    roles: ['superadmin', 'admin'],
    navigation: { group: 'protection', icon: 'backups' },
    key: 'b',
  },
  {
    title: titles.restore,
    path: '/backups/restore',
    load: () => import('../pages/backups/restore.tsx'),
    roles: ['superadmin', 'admin'],
  },
  {
    title: titles.encryption,
    path: '/encryption',
    load: () => import('../pages/encryption/encryption.tsx'),
    roles: ['superadmin'],
    isPlatform: true,
    navigation: { group: 'protection', icon: 'key' },
    key: 'e',
  },
  {
    title: titles.cache,
    path: '/cache',
    load: () => import('../pages/cache/cache.tsx'),
    roles: ['superadmin', 'admin'],
    navigation: { group: 'protection', icon: 'cache' },
    key: 'c',
  },
  {
    title: titles.healing,
    path: '/self-healing',
    load: () => import('../pages/self-healing/self-healing.tsx'),
    roles: ['superadmin', 'admin'],
    navigation: { group: 'protection', icon: 'healing', badge: 'faults' },
    key: 'r',
  },
  {
    title: titles.health,
    path: '/health',
    load: () => import('../pages/health/health.tsx'),
    roles: ['superadmin', 'admin'],
    navigation: { group: 'protection', icon: 'health' },
    key: 'h',
  },
  {
    title: titles.tenants,
    path: '/tenants',
    load: () => import('../pages/tenants/tenants.tsx'),
    roles: ['superadmin'],
    isPlatform: true,
    navigation: { group: 'platform', icon: 'clinic' },
    key: 't',
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

/** Returns the pages that a role may open. */
export const pagesFor = (role: Role): readonly ConsolePage[] =>
  pages.filter(({ roles }) => roles.includes(role))
