import { describe, expect, it } from 'vitest'
import { type Manifest, tooLarge } from './console-sizes.ts'

const sizesOf = (sizes: Record<string, number>) =>
  new Map(Object.entries(sizes).map(([file, kB]) => [file, kB * 1000]))

describe('the size check of the console', () => {
  it('treats the only entry file as the sign-in page if the app has no lazy pages', () => {
    const manifest: Manifest = { 'index.html': { file: 'assets/index.js', isEntry: true } }
    expect(tooLarge(manifest, sizesOf({ 'assets/index.js': 129 }))).toEqual([])
    expect(tooLarge(manifest, sizesOf({ 'assets/index.js': 129.1 }))).toEqual([
      'script of the sign-in page: 129.1 kB of 129 kB',
    ])
  })

  /** An app that loads its shell on demand. The shell loads the other pages. */
  const app: Manifest = {
    'index.html': {
      file: 'assets/index.js',
      isEntry: true,
      imports: ['_vendor.js'],
      dynamicImports: ['src/pages/sign-in/sign-in.tsx', 'src/shell/shell.tsx'],
    },
    '_vendor.js': { file: 'assets/vendor.js' },
    '_table.js': { file: 'assets/table.js', imports: ['_vendor.js'] },
    '_chart.js': { file: 'assets/chart.js' },
    'src/pages/sign-in/sign-in.tsx': { file: 'assets/sign-in.js', imports: ['_vendor.js'] },
    'src/shell/shell.tsx': {
      file: 'assets/shell.js',
      dynamicImports: [
        'src/pages/users/approvals.tsx',
        'src/pages/users/users.tsx',
        'src/pages/audit/audit.tsx',
      ],
    },
    'src/pages/users/users.tsx': { file: 'assets/users.js', imports: ['_table.js'] },
    'src/pages/users/approvals.tsx': { file: 'assets/approvals.js', imports: ['_table.js'] },
    'src/pages/audit/audit.tsx': { file: 'assets/audit.js', imports: ['_table.js', '_chart.js'] },
  }
  const FITTING = {
    'theme.js': 1,
    'assets/index.js': 10,
    'assets/vendor.js': 104,
    'assets/sign-in.js': 14,
    'assets/shell.js': 10,
    'assets/table.js': 15,
    'assets/users.js': 11,
    'assets/approvals.js': 24,
    'assets/audit.js': 19,
    'assets/chart.js': 5,
    'assets/index.css': 12,
    'assets/audit.css': 4,
  }

  it('excludes the styles of the component gallery', () => {
    const gallery = { file: 'assets/gallery.js', css: ['assets/gallery.css'] }
    const manifest = { ...app, 'src/pages/parts-gallery/gallery.tsx': gallery }
    expect(tooLarge(manifest, sizesOf({ ...FITTING, 'assets/gallery.css': 1 }))).toEqual([])
  })

  it('accepts a build that uses its whole budget', () => {
    expect(tooLarge(app, sizesOf(FITTING))).toEqual([])
  })

  it.each([
    ['theme.js', 1.1, 'script of the sign-in page: 129.1 kB of 129 kB'],
    ['assets/sign-in.js', 14.1, 'script of the sign-in page: 129.1 kB of 129 kB'],
    ['assets/users.js', 11.1, 'script of the first list: 151.1 kB of 151 kB'],
    ['assets/approvals.js', 24.1, 'own script of src/pages/users/approvals.tsx: 24.1 kB of 24 kB'],
    ['assets/chart.js', 5.1, 'own script of src/pages/audit/audit.tsx: 24.1 kB of 24 kB'],
    ['assets/audit.css', 4.1, 'styles: 16.1 kB of 16 kB'],
    ['assets/inter.woff2', 1, 'assets/inter.woff2: fonts are not allowed'],
  ])('reports each part that is too large: %s', (file, kB, line) => {
    expect(tooLarge(app, sizesOf({ ...FITTING, [file]: kB }))).toContain(line)
  })
})
