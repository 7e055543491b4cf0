/** Parses the JSON files in a backup, which may come from an untrusted source. */
import Type, { type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { UnreadableFile } from './age.ts'
import { BACKUP_TYPES, FORMAT, HEADER, type Header, MANIFEST, type Manifest } from './format.ts'

const Count = Type.Integer({ minimum: 0 })
const Counts = Type.Array(Count)

const HeaderText = Compile(
  Type.Object({
    format: Type.Literal(FORMAT),
    backup_id: Type.String(),
    installation: Type.String(),
    type: Type.Union(BACKUP_TYPES.map((type) => Type.Literal(type))),
    tenant_id: Type.Union([Count, Type.Null()]),
    created_at: Type.String(),
    schema_version: Count,
    migrations: Type.Array(Type.Object({ version: Count, checksum: Type.String() })),
    keys: Type.Object({
      key_encryption_keys: Counts,
      data_keys: Counts,
      root_key: Type.Optional(Type.String()),
    }),
    tables: Type.Array(
      Type.Object({
        name: Type.String(),
        columns: Type.Array(Type.String()),
        partitions: Type.Optional(Type.Array(Type.String())),
      }),
    ),
    sequences: Type.Optional(Type.Record(Type.String(), Type.Integer())),
    rewritten_at: Type.Optional(Type.String()),
    forgotten: Type.Optional(Counts),
  }),
)

const ManifestText = Compile(
  Type.Object({
    backup_id: Type.String(),
    header: Type.String(),
    tables: Type.Record(
      Type.String(),
      Type.Object({ rows: Count, bytes: Count, sha256: Type.String() }),
    ),
  }),
)

/** @throws UnreadableFile if the header is invalid or has an unsupported format */
export function parseHeader(text: Buffer): Header {
  const value = jsonOf(HEADER, text)
  const { format } = Object(value) as Partial<Header>
  if (typeof format === 'number' && format !== FORMAT)
    throw new UnreadableFile(
      `the file has format ${format}, but this release reads format ${FORMAT}`,
    )
  return checked(HEADER, HeaderText, value) as Header
}

/** @throws UnreadableFile if the manifest is invalid */
export const parseManifest = (text: Buffer): Manifest =>
  checked(MANIFEST, ManifestText, jsonOf(MANIFEST, text)) as Manifest

function jsonOf(name: string, text: Buffer): unknown {
  try {
    return JSON.parse(String(text))
  } catch (cause) {
    throw new UnreadableFile(`${name} is not JSON`, { cause })
  }
}

function checked(name: string, schema: ReturnType<typeof Compile<TSchema>>, value: unknown) {
  if (!schema.Check(value)) throw new UnreadableFile(`${name} is not a backup file`)
  return value
}
