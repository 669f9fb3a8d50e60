/**
 * Bulk imports: many provisioned entities in one request, one per line, and the import's progress.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { closed, identifier, shortText } from '../values-and-problems/resource-schemas.ts';
import {
  ClientIdentifier,
  FieldErrorSchema,
  pageOf,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';
import { PhysicalDeviceInput } from './organization-tree.ts';

/**
 * The limits of one import request.
 *
 * @example
 * if (lines.length > bulkLimits.lines) splitTheFile();
 */
export const bulkLimits = {
  /** Lines that are not blank. */
  lines: 10_000,
  /** Bytes of the body. */
  bytes: 16_777_216,
  /** Bytes of one line, or of one row of a table. */
  lineBytes: 65_536,
} as const;

/**
 * The entity types of a line.
 *
 * @example
 * const type: BulkType = 'store';
 */
export const bulkTypes = [
  'merchant',
  'store',
  'logicalDevice',
  'physicalDevice',
  'pointOfSale',
] as const;
/** One of {@link bulkTypes}. */
export type BulkType = (typeof bulkTypes)[number];

/**
 * The operations of a line. `upsert` replaces the entity with the external identifier, or creates
 * it.
 *
 * @example
 * const operation: BulkOperation = 'upsert';
 */
export const bulkOperations = ['upsert', 'create', 'replace', 'delete'] as const;
/** One of {@link bulkOperations}. */
export type BulkOperation = (typeof bulkOperations)[number];

/**
 * One line of an import. `data` has the members of the single operation. Instead of the identifier
 * of a parent it may contain `merchantExternalId`, `storeExternalId` or `logicalDeviceExternalId`.
 *
 * @example
 * const line: BulkLine = { type: 'store', data: { merchantExternalId: 'M1', externalId: 'S1', name: 'Canal' } };
 */
export const BulkLine = closed(
  {
    type: wordOf(bulkTypes, { description: 'The entity type of the line.' }),
    operation: Type.Optional(
      wordOf(bulkOperations, {
        default: 'upsert',
        description: '`upsert` replaces what has the external identifier, or makes it.',
      }),
    ),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: 'The fields of the operation; a parent can be given by its external identifier.',
    }),
  },
  'One line of an import.',
);
export type BulkLine = Static<typeof BulkLine>;

const external = Type.Optional(
  shortText(64, 'The external identifier of the parent, in place of its identifier.'),
);
const which = Type.Optional(identifier('Which one, where no external identifier says so.'));
const externalId = Type.Optional(shortText(64, 'Which one, by its external identifier.'));

/**
 * The members of `data` that name parents and that the single routes do not have. A merchant or a
 * store limits the search for the parent's external identifier.
 *
 * @example
 * bulkParents.store.properties.merchantExternalId;
 */
export const bulkParents = {
  merchant: closed({}, 'A merchant has no parent.'),
  store: closed({ merchantExternalId: external }, 'The parent of a store.'),
  logicalDevice: closed(
    { merchantExternalId: external, storeExternalId: external },
    'The parents of a logical device.',
  ),
  physicalDevice: closed(
    {
      merchantExternalId: external,
      storeExternalId: external,
      logicalDeviceExternalId: external,
      logicalDeviceId: Type.Optional(identifier('The logical device that it fills.')),
    },
    'The parents of a physical device, and the place that it fills.',
  ),
  pointOfSale: closed(
    { merchantExternalId: external, storeExternalId: external },
    'The parents of a point of sale.',
  ),
} as const;

/**
 * The members of `data` in a delete line, in addition to its parents.
 *
 * @example
 * const line: BulkLine = { type: 'store', operation: 'delete', data: { externalId: 'S1' } };
 */
export const bulkDeletions = {
  merchant: closed({ merchantId: which, externalId }, 'The merchant that is deleted.'),
  store: closed({ storeId: which, externalId }, 'The store that is deleted.'),
  logicalDevice: closed({ logicalDeviceId: which, externalId }, 'The device that is deleted.'),
  physicalDevice: closed(
    {
      physicalDeviceId: which,
      externalId,
      serialNumber: Type.Optional(PhysicalDeviceInput.properties.serialNumber),
    },
    'The device that is deleted.',
  ),
  pointOfSale: closed({ pointOfSaleId: which, externalId }, 'The point of sale that is deleted.'),
} as const;

const dependant = closed(
  { type: Type.String(), id: Uuid, name: Type.String() },
  'Something that depends on what was to be deleted.',
);

const BulkError = closed(
  {
    code: Type.String({ description: 'As a problem has it.', examples: ['field_invalid'] }),
    detail: Type.String({ description: 'One sentence about it.' }),
    errors: Type.Optional(
      Type.Array(FieldErrorSchema, {
        description:
          'The fields with an error. A pointer starts in `data`; the fields of the line itself are /type, /operation and /data.',
      }),
    ),
    dependants: Type.Optional(Type.Array(dependant)),
  },
  'The reason why a line failed or an import stopped: the problem that a single request for this line would return.',
);

const count = (description: string) => Type.Integer({ minimum: 0, description });

const counts = {
  created: count('Things that were made.'),
  replaced: count('Things that were changed.'),
  unchanged: count('Things that were so already.'),
  deleted: count('Things that were deleted.'),
  failed: count('Lines that changed nothing, for the reason that each one names.'),
};

const resultStatuses = ['created', 'replaced', 'unchanged', 'deleted', 'failed'] as const;

/**
 * The result of one line.
 *
 * @example
 * const failed = results.filter(({ status }) => status === 'failed');
 */
export const BulkResult = closed(
  {
    line: Type.Integer({ minimum: 1, description: 'The line of the body, or where it begins.' }),
    status: wordOf(resultStatuses, { description: 'The result of the line.' }),
    type: Type.Optional(wordOf(bulkTypes)),
    id: Type.Optional(Uuid),
    externalId: Type.Optional(shortText(64, 'The identifier in the system of the organisation.')),
    clientId: Type.Optional(
      Type.String({ description: 'As which a point of sale gets its tokens.' }),
    ),
    clientSecret: Type.Optional(
      Type.String({
        description: 'The secret of a created point of sale; returned only once and not stored.',
      }),
    ),
    error: Type.Optional(BulkError),
  },
  'The answer to one line of an import.',
);
export type BulkResult = Static<typeof BulkResult>;

const states = ['Running', 'Interrupted', 'Completed'] as const;

/**
 * The last line of the response.
 *
 * @example
 * if (summary.state !== 'Completed') await sendAgain(summary.bulkId);
 */
export const BulkSummary = closed(
  {
    summary: closed(
      {
        bulkId: Type.Optional(ClientIdentifier),
        dryRun: Type.Boolean({ description: 'Nothing was written.' }),
        state: wordOf(states, { description: 'Completed, or stopped for the reason in `error`.' }),
        lines: count('Lines that were answered.'),
        ...counts,
        error: Type.Optional(BulkError),
      },
      'All lines together.',
    ),
  },
  'The last line of the answer.',
);
export type BulkSummary = Static<typeof BulkSummary>;

/**
 * The whole response: one of these on each line.
 *
 * @example
 * const last = JSON.parse(lines.at(-1) ?? '') as BulkSummary;
 */
export const BulkAnswer: TSchema = Type.Union([BulkResult, BulkSummary], {
  description: 'One answer a line, in the order of the lines; the summary last.',
});

/**
 * The progress of an import.
 *
 * @example
 * const { state, lines } = (await response.json()) as BulkImport;
 */
export const BulkImport = closed(
  {
    bulkId: ClientIdentifier,
    state: wordOf(states, {
      description: 'Interrupted: send the same body again under the same name, and it goes on.',
    }),
    format: wordOf(['JsonLines', 'Csv'], { description: 'The format of the body.' }),
    lines: count('Lines that were answered.'),
    bytes: count('How far into the body that is.'),
    ...counts,
    error: Type.Optional(BulkError),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    completedAt: Type.Optional(Timestamp),
  },
  'An import and how far it is.',
);
export type BulkImport = Static<typeof BulkImport>;

/**
 * One page of stored results.
 *
 * @example
 * const { items, nextCursor } = (await response.json()) as Static<typeof BulkResultPage>;
 */
export const BulkResultList = pageOf(BulkResult);

/**
 * The filters of the stored results, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...bulkResultFilters });
 */
export const bulkResultFilters = {
  status: Type.Optional(
    wordOf(resultStatuses, { description: 'Those alone; a page may then be short.' }),
  ),
};
