/** The documents as a site: the same files, with search, in light and dark. It contacts no other host. */
import path from 'node:path'
import { defineConfig, type MarkdownOptions } from 'vitepress'
import { withMermaid } from 'vitepress-plugin-mermaid'
import { addressOf, copyProjectPages, ROOT, sidebar, sourceOf } from './pages.ts'

copyProjectPages()

/** Leads links to the pages of the site. Links to source files become text, because the site does not have them. */
const markdown: MarkdownOptions = {
  languageAlias: { caddy: 'nginx' },
  config(md) {
    md.core.ruler.push('links_of_the_site', ({ tokens, env }) => {
      const folder = path.dirname(sourceOf(env.path))
      for (const children of tokens.map(({ children }) => children ?? []))
        for (const [at, token] of children.entries()) {
          const href = token.attrGet('href') ?? ''
          if (token.type === 'image') {
            const file = path.join(ROOT, folder, token.attrGet('src') ?? '')
            token.attrSet('src', path.relative(path.dirname(env.path), file))
          }
          if (token.type !== 'link_open' || /^(?:[a-z]+:|#|$)/.test(href)) continue
          const [file = '', anchor] = href.split('#')
          const address = addressOf(path.join(folder, file))
          if (address) token.attrSet('href', anchor ? `${address}#${anchor}` : address)
          else
            for (const end of [token, children.slice(at).find(({ type }) => type === 'link_close')])
              if (end) Object.assign(end, { tag: 'span', attrs: null })
        }
    })
  },
}

export default withMermaid(
  defineConfig({
    title: 'Wardkeep',
    description: 'Administration, accounts and webhooks for clinical software',
    outDir: './dist',
    rewrites: (id) => id.replace(/(^|\/)README\.md$/, '$1index.md'),
    cleanUrls: true,
    markdown,
    themeConfig: {
      search: { provider: 'local' },
      nav: [
        { text: 'First clinic', link: '/tutorials/first-clinic' },
        { text: 'Operate', link: '/how-to/operate/container' },
        { text: 'Runbooks', link: '/runbooks/' },
        { text: 'API', link: '/reference/api' },
      ],
      sidebar: sidebar(),
      outline: [2, 3],
    },
  }),
)
