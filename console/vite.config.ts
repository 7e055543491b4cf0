/** Builds the console into `dist`. The server serves these static files under `/console/`. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react()],
  build: {
    target: 'es2023',
    // The size check reads the manifest from here. The server does not serve hidden folders.
    manifest: true,
    // Inlines no assets, because the content security policy blocks `data:` URLs for scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  experimental: {
    // Uses relative URLs between chunks, so that a proxy may add a prefix. The server writes the prefix of PUBLIC_URL
    // into index.html.
    renderBuiltUrl: (_file, { hostType }) => (hostType === 'js' ? { relative: true } : undefined),
  },
})
