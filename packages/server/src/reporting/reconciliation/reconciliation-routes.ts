// HTTP routes for reconciliations.
import type { Readable } from 'node:stream';
import {
  type ErrorCode,
  Reconciliation,
  ReconciliationDecision,
  ReconciliationDetail,
  ReconciliationItem,
  ReconciliationItemList,
  ReconciliationList,
  reconciliationLimits,
  reconciliationOutcomes,
  reconciliationStates,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import type { Reconciliations } from './reconciliations.ts';

const base = '/reporting/v1/reconciliations';
const tags = ['Reporting'];
const csv = 'text/csv';
const noOtherMembers = { additionalProperties: false };
const uuid = Type.String({ format: 'uuid' });
const params = Type.Object({ reconciliationId: uuid });
const commonErrors: ErrorCode[] = ['permission_denied', 'database_unavailable'];
const reconciliationErrors: ErrorCode[] = [...commonErrors, 'resource_not_found'];
const numberPattern = /^[1-9]\d{0,8}$/;
const uploadIdleTimeoutMs = 60_000;
const daySchema = (description: string) =>
  Type.String({ format: 'date', maxLength: 10, description, examples: ['2026-03-01'] });

const example = [
  'type,acquirerMerchantId,retrievalReferenceNumber,amount,currency,settlementDate,fee',
  'Capture,DEMOMERCHANT001,606012000017,1250,EUR,2026-03-01,15',
  'Refund,DEMOMERCHANT001,606012000021,500,EUR,2026-03-01,',
].join('\n');

function registerCreate(app: FastifyInstance, reconciliations: Reconciliations): void {
  // The handler receives the body as a stream, like that of an import.
  if (!app.hasContentTypeParser(csv)) {
    app.addContentTypeParser(csv, (_request, body, done) => done(null, body));
  }
  route(app, {
    method: 'POST',
    url: base,
    operationId: 'createReconciliation',
    summary: 'Create a reconciliation',
    description:
      'A CSV file whose first row names the columns: the fields of a settlement line. The platform ' +
      'compares the file with its own movements in the background.',
    tags,
    permission: 'rep.export',
    takesIdempotencyKey: true,
    priority: 'report',
    streamedMediaTypes: [csv],
    bodyLimitBytes: reconciliationLimits.bytes,
    examples: { [csv]: example },
    query: Type.Object(
      {
        acquirerLinkId: Type.String({
          format: 'uuid',
          description: 'The acquirer link of the file.',
        }),
        from: daySchema('The first settlement day of the file.'),
        to: daySchema('The last settlement day of the file (inclusive); at most 31 days.'),
        name: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 100,
            pattern: '^[^\\u0000-\\u001f\\u007f]+$',
            description: 'A name, such as the name of the file.',
          }),
        ),
      },
      noOtherMembers,
    ),
    response: { 202: Reconciliation },
    responseHeaders: { 202: ['Location'] },
    errors: [
      ...reconciliationErrors,
      ...(['payload_too_large', 'unsupported_media_type', 'malformed_csv'] as const),
      'reconciliation_state',
    ],
    async handler({ caller, id, query, body, raw }, reply) {
      raw.setTimeout(uploadIdleTimeoutMs);
      const created = await reconciliations.createReconciliation(
        caller,
        id,
        query,
        body as Readable,
      );
      reply.code(202).header('location', `${base}/${created.reconciliationId}`);
      return created;
    },
  });
}

function registerReads(app: FastifyInstance, reconciliations: Reconciliations): void {
  route(app, {
    method: 'GET',
    url: base,
    operationId: 'listReconciliations',
    summary: 'List the reconciliations',
    description: 'Newest first.',
    tags,
    permission: 'rep.read',
    priority: 'list',
    query: Type.Object(
      {
        ...pageQuery,
        acquirerLinkId: Type.Optional(uuid),
        state: Type.Optional(Type.Enum([...reconciliationStates])),
      },
      noOtherMembers,
    ),
    response: { 200: ReconciliationList },
    errors: [...commonErrors, 'cursor_invalid'],
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listReconciliations');
      return pageResponse(
        await reconciliations.listReconciliations(caller, query, page),
        query,
        'listReconciliations',
      );
    },
  });
  route(app, {
    method: 'GET',
    url: `${base}/:reconciliationId`,
    operationId: 'getReconciliation',
    summary: 'Get a reconciliation',
    description: 'The progress, and the totals of the file, the operations and the ledger.',
    tags,
    permission: 'rep.read',
    priority: 'list',
    params,
    response: { 200: ReconciliationDetail },
    errors: reconciliationErrors,
    handler: ({ caller, params: { reconciliationId } }) =>
      reconciliations.getReconciliation(caller, reconciliationId),
  });
  route(app, {
    method: 'GET',
    url: `${base}/:reconciliationId/items`,
    operationId: 'listReconciliationItems',
    summary: 'List the items of a reconciliation',
    description: 'In the order of the file; movements that the file lacks come last.',
    tags,
    permission: 'rep.read',
    priority: 'list',
    params,
    query: Type.Object(
      {
        ...pageQuery,
        outcome: Type.Optional(Type.Enum([...reconciliationOutcomes])),
        isOpen: Type.Optional(
          Type.Boolean({
            description:
              'True: only items that differ and are not resolved. False: all other items.',
          }),
        ),
      },
      noOtherMembers,
    ),
    response: { 200: ReconciliationItemList },
    errors: [...reconciliationErrors, 'cursor_invalid'],
    async handler({ caller, query, params: { reconciliationId } }) {
      const filters = { ...query, reconciliationId };
      const page = readPageRequest(filters, 'listReconciliationItems', numberPattern);
      const resultPage = await reconciliations.listItems(caller, reconciliationId, query, page);
      return pageResponse(resultPage, filters, 'listReconciliationItems');
    },
  });
}

/** @example registerReconciliationRoutes(app, reconciliations); */
export function registerReconciliationRoutes(
  app: FastifyInstance,
  reconciliations: Reconciliations,
): void {
  registerCreate(app, reconciliations);
  registerReads(app, reconciliations);
  route(app, {
    method: 'POST',
    url: `${base}/:reconciliationId/items/:number/resolve`,
    operationId: 'resolveReconciliationItem',
    summary: 'Resolve an item of a reconciliation',
    description:
      'Records the decision, its author and the reason. It moves no money; claim money from the ' +
      'acquirer directly.',
    tags,
    permission: 'rep.export',
    params: Type.Object({
      reconciliationId: uuid,
      number: Type.String({ minLength: 1, maxLength: 36, description: 'The number of the item.' }),
    }),
    body: ReconciliationDecision,
    response: { 200: ReconciliationItem },
    errors: [...reconciliationErrors, 'reconciliation_state', 'resolution_not_allowed'],
    handler: ({ caller, id, params: { reconciliationId, number }, body }) =>
      reconciliations.resolveItem(
        caller,
        id,
        { reconciliationId, number: numberPattern.test(number) ? Number(number) : 0 },
        body,
      ),
  });
  route(app, {
    method: 'DELETE',
    url: `${base}/:reconciliationId`,
    operationId: 'deleteReconciliation',
    summary: 'Delete a reconciliation',
    description:
      'Deletes the reconciliation with its items and decisions; the audit keeps a record of it.',
    tags,
    permission: 'rep.export',
    params,
    response: { 204: null },
    errors: reconciliationErrors,
    async handler({ caller, id, params: { reconciliationId } }, reply) {
      await reconciliations.deleteReconciliation(caller, id, reconciliationId);
      return reply.code(204).send();
    },
  });
}
