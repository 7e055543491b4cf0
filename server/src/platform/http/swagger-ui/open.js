/* global SwaggerUIBundle */
SwaggerUIBundle({
  // Relative to the page, which a proxy may have put below a prefix.
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  docExpansion: 'none',
  deepLinking: true,
  validatorUrl: null,
})
