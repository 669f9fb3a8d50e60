/** Schemas of the audit: the records of changes, and the signed checkpoints of their chain. */
import { type Static, Type } from 'typebox';
import { closed, identifier } from '../values-and-problems/resource-schemas.ts';
import { Timestamp, Uuid, wordOf } from '../values-and-problems/value-schemas.ts';

const hash = (description: string) =>
  Type.String({
    pattern: '^[0-9a-f]{64}$',
    description,
    examples: ['2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae'],
  });

const sequence = Type.Integer({
  minimum: 1,
  description: 'Counts the records of the organisation from 1, without gaps.',
  examples: [42],
});

/** The kinds of authors: of audit records, and of versions of a configuration. */
export const actorKind = wordOf(['User', 'Application', 'Platform', 'Command'], {
  description:
    'A person, an application for itself, an automatic action of the platform, or a command of `switchyard admin`.',
});

const AuditActor = closed(
  {
    subject: Type.String({
      description:
        'The `sub` of the token: the user, or the account of the application. For a command, the account of the operating system and its host.',
      examples: ['7a1c9d58-6d0f-4c53-9b0e-0f6f2b8d6b1e'],
    }),
    clientId: Type.String({
      description: 'The application that asked, for itself or for the user, or the command.',
      examples: ['portal'],
    }),
    kind: actorKind,
    organizationId: Type.Optional(
      identifier('Whose person or application, where an organisation above made the change.'),
    ),
  },
  'The user, application or command that made the change.',
);

const AuditEntity = closed(
  {
    type: Type.String({ description: 'The type of the entity.', examples: ['merchant'] }),
    id: Type.String({
      description: 'Its identifier.',
      examples: ['019823f0-5d2c-7a31-9a53-0c6f1f2e9b11'],
    }),
    merchantId: Type.Optional(identifier('The merchant that it belongs to.')),
  },
  'The changed entity.',
);

const snapshot = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description }));

/**
 * One change: the actor, the action, the values before and after, the time, and the chain hashes.
 *
 * @example
 * const { items } = (await response.json()) as { items: AuditRecord[] };
 */
export const AuditRecord = closed(
  {
    organizationId: Uuid,
    sequence,
    at: Timestamp,
    actor: AuditActor,
    action: Type.String({
      description: 'The entity and what was done to it.',
      examples: ['merchant.updated'],
    }),
    entity: AuditEntity,
    before: snapshot('The entity before the change, without secrets.'),
    after: snapshot('The entity after the change, without secrets.'),
    requestId: Type.Optional(
      Type.String({ description: 'The request that asked for it: `x-request-id` of its answer.' }),
    ),
    previousHash: hash('The hash of the record before; 64 zeros in the first one.'),
    hash: hash('SHA-256 over the canonical JSON (RFC 8785) of all other fields.'),
  },
  'A change.',
);
export type AuditRecord = Static<typeof AuditRecord>;

/**
 * A signature over the chain up to a sequence. It detects a later change or removal of those
 * records.
 *
 * @example
 * const newest = page.items.at(-1)?.sequence;
 */
export const AuditCheckpoint = closed(
  {
    organizationId: Uuid,
    sequence,
    hash: hash('The hash of the record with this sequence.'),
    at: Timestamp,
    keyId: Type.String({
      description: 'The `kid` of the key at `/audit/v1/keys`.',
      examples: ['kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'],
    }),
    signature: Type.String({
      pattern: '^[A-Za-z0-9_-]{86}$',
      description: 'Ed25519 (RFC 8032) over the canonical JSON of the other fields, base64url.',
    }),
  },
  'A signed checkpoint of the chain.',
);
export type AuditCheckpoint = Static<typeof AuditCheckpoint>;

/**
 * A public key that verifies checkpoints (RFC 8037).
 *
 * @example
 * const key = keys.find(({ kid }) => kid === checkpoint.keyId);
 */
export const AuditKey = closed(
  {
    kty: wordOf(['OKP']),
    crv: wordOf(['Ed25519']),
    x: Type.String({
      pattern: '^[A-Za-z0-9_-]{43}$',
      description: 'The public key in base64url.',
    }),
    kid: Type.String({ description: 'The thumbprint of the key (RFC 7638).' }),
    alg: wordOf(['EdDSA']),
    use: wordOf(['sig']),
  },
  'A public key of the checkpoints.',
);
export type AuditKey = Static<typeof AuditKey>;

/**
 * The keys of the checkpoints: a JSON Web Key set (RFC 7517).
 *
 * @example
 * const { keys } = (await response.json()) as AuditKeys;
 */
export const AuditKeyList = closed(
  { keys: Type.Array(AuditKey, { maxItems: 100 }) },
  'The public keys of the checkpoints, old ones too.',
);
export type AuditKeyList = Static<typeof AuditKeyList>;

const filter = (description: string) =>
  Type.Optional(Type.String({ maxLength: 128, pattern: '^[!-~]+$', description }));

const span = {
  from: Type.Optional({ ...Timestamp, description: 'Records of this time and later.' }),
  to: Type.Optional({ ...Timestamp, description: 'Records before this time.' }),
};

/**
 * The filters of audit records; spread them into the query of the list.
 *
 * @example
 * const query = Type.Object({ ...auditFilters });
 */
export const auditFilters = {
  ...span,
  actor: filter('The `subject` of the actor that made the change.'),
  action: filter('As `merchant.updated`.'),
  entityType: filter('As `merchant`.'),
  entityId: filter('The identifier of what was changed.'),
  requestId: filter('The request that asked for it.'),
  order: Type.Optional(
    wordOf(['NewestFirst', 'OldestFirst'], {
      default: 'NewestFirst',
      description: 'Which end the list begins at.',
    }),
  ),
};

/**
 * The range of an export; spread it into its query.
 *
 * @example
 * const query = Type.Object({ ...auditSpan });
 */
export const auditSpan = {
  ...span,
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 999_999_999_999_999,
      description: 'Goes on behind the record with this sequence.',
    }),
  ),
};
