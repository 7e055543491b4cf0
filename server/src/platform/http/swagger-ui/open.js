/* global SwaggerUIBundle */
SwaggerUIBundle({
  // Relative to the page, because a proxy may add a prefix to its URL.
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  docExpansion: 'none',
  deepLinking: true,
  validatorUrl: null,
})
