/** The pages that links in mails open. What they name is relative: a proxy may put them below a prefix. */
import type { Page } from '../../platform/http/index.ts'

const page = (url: string, name: string, type: Page['type']): Page => ({
  url,
  type,
  file: new URL(`pages/${name}.${type}`, import.meta.url),
})

export const PAGES: readonly Page[] = [
  page('/verify-email', 'verify-email', 'html'),
  page('/reset-password', 'reset-password', 'html'),
  page('/invitation', 'invitation', 'html'),
  page('/pages/verify-email.js', 'verify-email', 'js'),
  page('/pages/reset-password.js', 'reset-password', 'js'),
  page('/pages/send.js', 'send', 'js'),
  page('/pages/page.css', 'page', 'css'),
]
