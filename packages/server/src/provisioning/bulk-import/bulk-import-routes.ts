// HTTP routes for bulk imports.
import { PassThrough, Readable } from 'node:stream';
import {
  BulkAnswer,
  BulkImport,
  type BulkResult,
  BulkResultList,
  bulkLimits,
  bulkResultFilters,
  ClientIdentifier,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  idempotencyKeyHeader,
  pageQuery,
  pageResponse,
  readPageRequest,
  registerResourceRoutes,
  resolveClientIdentifier,
  route,
} from '../../http/index.ts';
import type { Ids } from '../../platform/index.ts';
import { type CallerScope, toCallerScope } from '../resources/caller-scope.ts';
import { throwNotFound } from '../resources/provisioning-errors.ts';
import type { ImportFormat } from './body/import-body.ts';
import { type ImportKey, importListCursorPattern } from './import-progress.ts';
import type { BulkImports } from './run-bulk-import.ts';

/** Holds a usual import completely; the client of a larger one waits for earlier lines. */
const bufferBytes = 4_194_304;

type BufferedBody = {
  readonly bytes: AsyncIterable<Buffer>;
  /** Stops reading; the listener closes the connection after the response if the body is not complete. */
  close(): void;
};

function bufferBody(body: Readable): BufferedBody {
  const ahead = new PassThrough({ highWaterMark: bufferBytes });
  // The reader of the stream gets the error; without a reader the error can be ignored.
  ahead.on('error', () => {});
  body.once('error', (error) => ahead.destroy(error));
  body.once('close', () => {
    if (!body.readableEnded) ahead.destroy(new Error('the client ended the body early'));
  });
  body.pipe(ahead);
  return {
    bytes: ahead,
    close() {
      body.unpipe(ahead);
      ahead.destroy();
    },
  };
}

const url = '/provisioning/v2/bulk';
const tags = ['Provisioning'] as const;
const closed = { additionalProperties: false };
const jsonLines = ['application/jsonl', 'application/x-ndjson'];
const csv = 'text/csv';
/** The buffer for a client that reads no response before it has sent the whole body. */
const responseBufferBytes = 8_388_608;
/** After this time without any traffic the connection is closed, and its import is released. */
const idleTimeoutMs = 60_000;
const listName = 'listBulkImportResults';
const lineForm = /^[1-9]\d{0,7}$/;
/** One page of results reads at most this many chunks. */
const chunksPerPage = 3;

const examples = {
  'application/jsonl': [
    '{"type":"merchant","data":{"externalId":"M1","name":"Lumière","country":"FR","mcc":"5814","timeZone":"Europe/Paris"}}',
    '{"type":"store","data":{"merchantExternalId":"M1","externalId":"S1","name":"Canal"}}',
    '{"type":"logicalDevice","data":{"storeExternalId":"S1","externalId":"D1","name":"Counter 1"}}',
    '{"type":"physicalDevice","data":{"logicalDeviceExternalId":"D1","serialNumber":"30000001","make":"AXIUM","model":"DX8000","family":"axium"}}',
  ].join('\n'),
  'text/csv': [
    'type,merchantExternalId,externalId,name,country,mcc,timeZone,address.line1,address.city,labels.region',
    'merchant,,M1,Lumière,FR,5814,Europe/Paris,12 quai de Valmy,Paris,north',
    'store,M1,S1,Canal,,,,,,',
  ].join('\n'),
};

const formatOf = (type = ''): ImportFormat =>
  type.trim().toLowerCase().startsWith(csv) ? 'Csv' : 'JsonLines';

const toImportKey = (scope: CallerScope, bulkId: string): ImportKey => {
  const { organizationId, merchantId: ownerId = organizationId } = scope;
  return { organizationId, ownerId, bulkId };
};

function registerCreateRoute(
  app: FastifyInstance,
  bulk: BulkImports,
  ids: Pick<Ids, 'uuid'>,
): void {
  // The handler receives the body as a stream.
  app.addContentTypeParser([...jsonLines, csv], (_request, body, done) => done(null, body));
  route(app, {
    method: 'POST',
    url,
    operationId: 'createBulkImport',
    summary: 'Create a bulk import',
    description:
      'Each line is one entity, parents before their children. The response has one line for each line, and a summary. The server commits the lines in chunks. If the client sends the same body again with the same bulkId, the server returns the stored results and continues after them.',
    tags,
    permission: 'prov.write',
    streamedMediaTypes: [...jsonLines, csv],
    bodyLimitBytes: bulkLimits.bytes,
    examples,
    headers: { [idempotencyKeyHeader]: 'The identifier of the import, in place of bulkId.' },
    query: Type.Object(
      {
        bulkId: Type.Optional(ClientIdentifier),
        dryRun: Type.Optional(
          Type.Boolean({ default: false, description: 'Validates all lines and writes nothing.' }),
        ),
      },
      closed,
    ),
    produces: ['application/jsonl'],
    response: { 200: BulkAnswer },
    responseHeaders: { 200: ['Location'] },
    errors: [
      'payload_too_large',
      'unsupported_media_type',
      'malformed_csv',
      'header_invalid',
      'idempotency_key_mismatch',
      'client_id_reused',
      'request_in_progress',
    ],
    faultOutcome: 'Unknown',
    priority: 'list',
    async handler(request, reply) {
      const { query, headers, caller } = request;
      const bulkId = resolveClientIdentifier(headers, 'bulkId', query.bulkId) ?? ids.uuid();
      const scope = toCallerScope(caller, request.id);
      reply.raw.setTimeout(idleTimeoutMs);
      const { bytes: body, close } = bufferBody(request.body as Readable);
      const importRequest = { scope, body, bulkId, format: formatOf(headers['content-type']) };
      const answers = query.dryRun === true ? bulk.dryRun(importRequest) : bulk.run(importRequest);
      // A fault before the first result becomes a problem response; later faults are in the
      // summary.
      const first = await answers.next().catch((error: unknown) => {
        close();
        throw error;
      });
      const all = async function* () {
        if (first.done !== true) yield first.value;
        yield* answers;
      };
      reply.type('application/jsonl').header('cache-control', 'no-store');
      if (query.dryRun !== true) reply.header('location', `${url}/${bulkId}`);
      const ahead = { objectMode: false, highWaterMark: responseBufferBytes };
      const stream = Readable.from(all(), ahead);
      // Also runs if the client disconnects before the first result, so that the import is
      // released.
      stream.once('close', () => {
        close();
        answers.return(undefined).catch(() => {});
      });
      return reply.send(stream);
    },
  });
}

function registerReadRoutes(app: FastifyInstance, bulk: BulkImports): void {
  registerResourceRoutes(app, {
    path: url,
    singular: 'BulkImport',
    plural: 'BulkImports',
    tags,
    readPermission: 'prov.read',
    identifiers: { bulkId: ClientIdentifier },
    view: BulkImport,
    notFoundCode: 'batch_not_found',
    scope: ({ caller, id }) => toImportKey(toCallerScope(caller, id), ''),
    list: {
      description: 'Newest first, for the last 30 days, without dry runs.',
      cursorKey: importListCursorPattern,
      run: (owner, _filters, page) => bulk.list(owner, page),
    },
    get: {
      description: 'The progress of the import. The server keeps imports for 30 days.',
      async run(owner, bulkId) {
        const view = await bulk.find({ ...owner, bulkId });
        return { view: view ?? throwNotFound('batch_not_found') };
      },
    },
  });

  route(app, {
    method: 'GET',
    url: `${url}/:bulkId/results`,
    operationId: listName,
    summary: 'List the results of a bulk import',
    description: 'The results of the committed lines, in the order of the lines.',
    tags,
    permission: 'prov.read',
    params: Type.Object({ bulkId: ClientIdentifier }),
    query: Type.Object({ ...pageQuery, ...bulkResultFilters }, closed),
    response: { 200: BulkResultList },
    errors: ['batch_not_found', 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query, id }) {
      const name = toImportKey(toCallerScope(caller, id), params.bulkId);
      if ((await bulk.find(name)) === undefined) throwNotFound('batch_not_found');
      const filters = { ...query, bulkId: params.bulkId };
      const page = readPageRequest(filters, listName, lineForm);
      const after = Number(page.after ?? 0);
      const chunks = await bulk.listResultsAfter(name, after, chunksPerPage);
      const results = chunks
        .flatMap((text) => text.trimEnd().split('\n'))
        .map((text) => JSON.parse(text) as Static<typeof BulkResult>)
        .filter(({ line }) => line > after);
      const matching = results.filter(({ status }) => status === (query.status ?? status));
      const items = matching.slice(0, page.limit);
      // A page may be short if few results match the filter.
      const scanned = matching.length > items.length ? items : results;
      const isMore = scanned === items || chunks.length === chunksPerPage;
      const last = isMore ? scanned.at(-1)?.line : undefined;
      const next = last === undefined ? undefined : String(last);
      return pageResponse({ items, next }, filters, listName);
    },
  });
}

export function registerBulkImportRoutes(
  app: FastifyInstance,
  { bulk, ids }: { bulk: BulkImports; ids: Pick<Ids, 'uuid'> },
): void {
  registerCreateRoute(app, bulk, ids);
  registerReadRoutes(app, bulk);
}
