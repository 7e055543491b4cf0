/** Builds the console into `dist`: static files that the server serves under `/console/`. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react()],
  build: {
    target: 'es2023',
    // The size check reads it. The server serves no hidden folders.
    manifest: true,
    // The content security policy refuses data: URLs of scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  experimental: {
    // Chunks find each other relative to themselves, so that a proxy may add a prefix. The server writes that of
    // PUBLIC_URL into index.html.
    renderBuiltUrl: (_file, { hostType }) => (hostType === 'js' ? { relative: true } : undefined),
  },
})
