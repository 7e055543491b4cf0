import { describe, expect, test } from 'vitest'
import { parseS3Url } from './s3-url.ts'

describe('an S3 URL', () => {
  test.each([
    [
      'http://10.0.0.7:9000/bucket',
      { origin: 'http://10.0.0.7:9000', bucketPath: '/bucket', prefix: '' },
    ],
    [
      'https://minio.clinic.example/bucket/wardkeep/north/',
      { origin: 'https://minio.clinic.example', bucketPath: '/bucket', prefix: 'wardkeep/north/' },
    ],
    [
      'https://s3.eu-central-1.amazonaws.com/bucket/a',
      { origin: 'https://bucket.s3.eu-central-1.amazonaws.com', bucketPath: '', prefix: 'a/' },
    ],
    [
      'https://bucket.s3.eu-central-1.amazonaws.com/a',
      { origin: 'https://bucket.s3.eu-central-1.amazonaws.com', bucketPath: '', prefix: 'a/' },
    ],
    [
      'https://s3.amazonaws.com/my.bucket',
      { origin: 'https://s3.amazonaws.com', bucketPath: '/my.bucket', prefix: '' },
    ],
    [
      'https://id.r2.cloudflarestorage.com/bucket?region=auto',
      { origin: 'https://id.r2.cloudflarestorage.com', bucketPath: '/bucket', region: 'auto' },
    ],
  ])('is parsed: %s', (text, location) => {
    const read = parseS3Url(text)
    expect(read).toMatchObject({ location, credentials: undefined })
    expect(read.location.place).toBe(text.replace(/\/?([?].*)?$/, ''))
  })

  test('has its credentials decoded, and hidden in the displayed location', () => {
    const { location, credentials } = parseS3Url('https://AKIA:a%2Fb%2Bc%25@s3.example/bucket/x')
    expect(credentials).toEqual({ accessKeyId: 'AKIA', secretAccessKey: 'a/b+c%' })
    expect(JSON.stringify(location)).not.toContain('AKIA')
    expect(location.place).toBe('https://s3.example/bucket/x')
  })
})

test.each([
  ['s3.example/bucket', /must be a URL such as/],
  ['s3://bucket/x', /must be a URL such as/],
  ['https://AKIA:secret/with@s3.example/bucket', /as %2F/],
  ['https://s3.example', /must include a bucket/],
  ['https://s3.amazonaws.com/', /must include a bucket/],
  ['https://s3.example/bucket/a b', /of letters, digits/],
  ['https://s3.example/bucket#x', /no query parameter except region/],
  ['https://s3.example/bucket?versioning=1', /no query parameter except region/],
  ['https://AKIA@s3.example/bucket', /both the access key and the secret/],
  ['https://:secret@s3.example/bucket', /both the access key and the secret/],
  ['https://AKIA:secret%@s3.example/bucket', /percent-encoded/],
])('the parser of S3 URLs rejects %s without printing the secret', (text, message) => {
  expect(() => parseS3Url(text)).toThrow(message)
  expect(() => parseS3Url(text)).not.toThrow(/AKIA|secret\/with|secret%@/)
})
