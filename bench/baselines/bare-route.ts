/** The baseline of the profile: Fastify with one route that returns a constant body. */
import fastify from 'fastify'
import { answer } from './answer.ts'

answer(async ({ body }: { body: object }) => {
  const app = fastify()
  app.get('/api/users/me', async () => body)
  return app.listen({ host: '127.0.0.1', port: 0 })
})
