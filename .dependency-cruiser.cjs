/**
 * The rules of ARCHITECTURE.md on who may import whom. Each has its planted violation in
 * server/test/architecture/dependency-rules.test.ts; a rule without one fails that test.
 */

/** A feature may use, through its index.ts, only features of a lower rank than its own. */
const ranks = [
  ['audit', 'siem', 'stats'],
  ['tenants'],
  ['departments'],
  ['users'],
  [
    'auth',
    'preferences',
    'messenger',
    'webhooks',
    'payments',
    'patients',
    'encryption',
    'backups',
    'self-healing',
  ],
  ['health', 'job-list', 'setup'],
]

const src = '^server/src/'
const features = `${src}features/`
const isTest = '[.]test[.]ts$'
const sqlPackages = '(^|/)node_modules/(kysely|pg|pg-[a-z-]+)/'
const inputOutput =
  '^(node:)?(fs|net|http|https|http2|tls|dns|dgram|child_process|cluster|worker_threads)(/|$)'

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to })
const file = (role) => `${features}.*[.]${role}[.]ts$`

const layers = [
  rule(
    'lib-is-the-bottom',
    'lib is pure: it imports nothing of the layers above it',
    { path: `${src}lib/`, pathNot: isTest },
    { path: '^(server|client|bench|scripts)/', pathNot: `${src}lib/` },
  ),
  rule(
    'lib-does-no-io',
    'lib is pure: no files, no network, no processes',
    { path: `${src}lib/`, pathNot: isTest },
    { path: inputOutput, dependencyTypes: ['core'] },
  ),
  rule(
    'platform-knows-no-feature',
    'platform is I/O without domain words: what it needs of a feature is handed in',
    { path: `${src}platform/`, pathNot: isTest },
    { path: features },
  ),
  rule(
    'only-the-list-knows-features',
    'features are opened in open-features.ts alone; an offline verification must not load them all',
    {
      path: src,
      pathNot: [features, `${src}platform/`, `${src}lib/`, `${src}open-features[.]ts$`, isTest],
    },
    { path: features, pathNot: `${features}audit/offline/index[.]ts$` },
  ),
  rule(
    'nobody-imports-the-root',
    'app.ts, main.ts, the commands and the list of features stand on top: nothing below imports them',
    { path: `${src}(lib|platform|features|config)/`, pathNot: isTest },
    { path: `${src}((app|main|open-features|http-server)[.]ts$|commands/)` },
  ),
  rule(
    'the-core-stands-on-platform',
    'core.ts opens what features share: nothing below the features knows it',
    { path: `${src}(lib|platform)/`, pathNot: isTest },
    { path: `${src}core[.]ts$` },
  ),
  rule(
    'no-test-in-source',
    'what runs in production imports no test and no test support',
    { path: src, pathNot: isTest },
    { path: ['^server/test/', isTest] },
  ),
]

const withinFeature = [
  rule(
    'routes-go-through-the-service',
    'routes → service → store: a route never reads the store itself',
    { path: file('routes') },
    { path: file('store') },
  ),
  rule(
    'services-look-down',
    'routes → service → store: a service does not know its routes',
    { path: file('service') },
    { path: file('routes') },
  ),
  rule(
    'stores-call-nobody',
    'routes → service → store: a store is the end of the line',
    { path: file('store') },
    { path: [file('service'), file('routes')] },
  ),
  rule(
    'services-know-no-http',
    'a service is called by jobs and commands as well: no request, no reply',
    { path: [file('service'), file('store')] },
    { path: [`${src}platform/http/`, '(^|/)node_modules/(fastify|@fastify/[^/]+)/'] },
  ),
]

const betweenFeatures = [
  rule(
    'features-meet-at-the-door',
    'another feature is used through its index.ts, never by the files behind it',
    { path: `${features}([^/]+)/`, pathNot: isTest },
    { path: features, pathNot: [`${features}$1/`, `${features}[^/]+/index[.]ts$`] },
  ),
  rule(
    'every-feature-has-a-rank',
    'name the feature in the ranks of .dependency-cruiser.cjs',
    { path: `${features}(?!(${ranks.flat().join('|')})/)` },
    {},
  ),
  ...ranks.map((members, rank) =>
    rule(
      `rank-${rank}-looks-down`,
      'a feature uses only features of a lower rank; what goes upwards is a function that open-features.ts passes in',
      { path: `${features}(${members.join('|')})/`, pathNot: isTest },
      {
        path: `${features}(${ranks.slice(rank).flat().join('|')})/`,
        pathNot: `${features}$1/`,
      },
    ),
  ),
]

const sql = [
  rule(
    'only-stores-run-sql',
    'SQL stands in *.store.ts and in parts of platform; row types in *.table.ts',
    {
      path: src,
      pathNot: [
        '[.](store|table)[.]ts$',
        `${src}platform/(db|embedded|lists|schema|feature|journal|jobs)/`,
        isTest,
      ],
    },
    { path: sqlPackages },
  ),
  rule(
    'tables-hold-only-types',
    '*.table.ts says what a row is: it imports types and runs nothing',
    { path: '[.]table[.]ts$' },
    { path: sqlPackages, dependencyTypesNot: ['type-only'] },
  ),
]

const network = [
  rule(
    'only-net-dials-out',
    'requests go out through platform/net, which judges their targets; metrics.ts only listens',
    { path: src, pathNot: [`${src}platform/(net/|observe/metrics[.]ts$)`, isTest] },
    { path: ['(^|/)node_modules/undici/', '^(node:)?(http|https|http2)$'] },
  ),
]

const everywhere = [
  rule('no-cycles', 'a cycle has no first file to read', {}, { circular: true }),
  rule(
    'no-unresolved-import',
    'the imported file or package exists',
    {},
    { couldNotResolve: true },
  ),
  rule(
    'packages-meet-in-files',
    'what crosses a package border is a committed file (server/openapi.json), not an import',
    { path: '^(server|client|bench)/' },
    { path: '^(server|client|console|bench)/', pathNot: '^$1/' },
  ),
  rule(
    'console-imports-only-the-client',
    'the console calls the service through the typed client and shares no code with the server',
    { path: '^console/' },
    { path: '^(server|bench|scripts)/' },
  ),
]

module.exports = {
  forbidden: [...layers, ...withinFeature, ...betweenFeatures, ...sql, ...network, ...everywhere],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^client/src/generated/|/dist/' },
    // Type-only imports count: a type of a layer above is knowledge of it all the same.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}
