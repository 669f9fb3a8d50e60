/** The settings of an acquirer link that uses HTTP and JSON. */
import { Type } from 'typebox';
import { closed } from '../values-and-problems/resource-schemas.ts';

const keyPattern = '^[A-Za-z0-9_-]{43}$';

export const httpJson = closed(
  {
    path: Type.Optional(
      Type.String({
        pattern: '^(/[A-Za-z0-9._~-]+){1,8}$',
        maxLength: 200,
        description: 'The base address of the acquirer SPI.',
        examples: ['/switchyard'],
      }),
    ),
    acquirerKeys: Type.Array(Type.String({ pattern: keyPattern }), {
      minItems: 1,
      maxItems: 4,
      uniqueItems: true,
      description:
        'The public keys that the acquirer signs with: the `x` of Ed25519 keys (RFC 8037).',
      examples: [['11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo']],
    }),
    keyVersion: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: 1,
        description: 'Which key the platform signs with; counted up to change it.',
      }),
    ),
  },
  'Of an HttpJson link: where the acquirer SPI is served, and the keys.',
);

const publicKey = closed(
  {
    kty: Type.Enum(['OKP']),
    crv: Type.Enum(['Ed25519']),
    x: Type.String({ pattern: keyPattern }),
    kid: Type.String({ description: 'Its thumbprint (RFC 7638), the keyid of signatures.' }),
    alg: Type.Enum(['EdDSA']),
    use: Type.Enum(['sig']),
  },
  'A public key (RFC 8037).',
);

export const signingKeys = closed(
  { current: publicKey, next: publicKey },
  'Of an HttpJson link: the key that the platform signs with, and the one after it.',
);
