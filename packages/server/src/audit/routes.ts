// The routes of the audit, version 1.
import { Readable } from 'node:stream';
import {
  AuditCheckpointList,
  AuditKeyList,
  AuditRecord,
  AuditRecordList,
  auditFilters,
  auditSpan,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../http/index.ts';
import type { Checkpoints } from './checkpoints.ts';
import { type RecordFinder, sequencePattern } from './find-records.ts';

const base = '/audit/v1';
const tags = ['Audit'] as const;
const closed = { additionalProperties: false };

function registerRecords(app: FastifyInstance, finder: RecordFinder): void {
  route(app, {
    method: 'GET',
    url: `${base}/records`,
    operationId: 'listAuditRecords',
    summary: 'List the audit records',
    description: 'The newest first by default; the order is stable while records are added.',
    tags,
    permission: 'audit.read',
    query: Type.Object({ ...pageQuery, ...auditFilters }, closed),
    response: { 200: AuditRecordList },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const { limit: _limit, cursor: _cursor, ...search } = query;
      const page = readPageRequest(query, 'listAuditRecords', sequencePattern);
      return pageResponse(await finder.list(caller, search, page), query, 'listAuditRecords');
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/records/:sequence`,
    operationId: 'getAuditRecord',
    summary: 'Get an audit record',
    tags,
    permission: 'audit.read',
    params: Type.Object({
      sequence: Type.String({ maxLength: 64, description: 'The sequence number of the record.' }),
    }),
    response: { 200: AuditRecord },
    errors: ['resource_not_found'],
    handler: ({ caller, params }) => finder.get(caller, params.sequence),
  });
}

function registerExport(app: FastifyInstance, finder: RecordFinder): void {
  route(app, {
    method: 'GET',
    url: `${base}/export`,
    operationId: 'exportAuditRecords',
    summary: 'Export the audit records',
    description:
      'One record per line in the order of the chain, up to the last record at the start. ' +
      'Continue an interrupted download with `after`, the sequence of the last complete line.',
    tags,
    permission: 'audit.read',
    query: Type.Object(auditSpan, closed),
    produces: ['application/jsonl'],
    response: { 200: AuditRecord },
    errors: [],
    priority: 'report',
    async handler({ caller, query }, reply) {
      const lines = finder.lines(caller, query);
      // An error of the first read becomes a problem response; later errors can only break the stream.
      const first = await lines.next();
      const rest = async function* () {
        if (first.done !== true) yield first.value;
        yield* lines;
      };
      reply.type('application/jsonl').header('cache-control', 'no-store');
      return reply.send(Readable.from(rest()));
    },
  });
}

function registerCheckpoints(app: FastifyInstance, checkpoints: Checkpoints): void {
  route(app, {
    method: 'GET',
    url: `${base}/checkpoints`,
    operationId: 'listAuditCheckpoints',
    summary: 'List the audit checkpoints',
    description:
      'The oldest first. Store the newest checkpoint elsewhere: it proves all earlier records.',
    tags,
    permission: 'audit.read',
    query: Type.Object(pageQuery, closed),
    response: { 200: AuditCheckpointList },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listAuditCheckpoints', sequencePattern);
      const checkpointPage = await checkpoints.list(caller.organizationId, page);
      return pageResponse(checkpointPage, query, 'listAuditCheckpoints');
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/keys`,
    operationId: 'listAuditKeys',
    summary: 'List the keys that sign audit checkpoints',
    description: 'A JSON Web Key set (RFC 7517): the current signing key first, then older keys.',
    tags,
    permission: 'public',
    response: { 200: AuditKeyList },
    errors: [],
    handler: () => checkpoints.keys(),
  });
}

export function registerAuditRoutes(
  app: FastifyInstance,
  { finder, checkpoints }: { finder: RecordFinder; checkpoints: Checkpoints },
): void {
  registerRecords(app, finder);
  registerExport(app, finder);
  registerCheckpoints(app, checkpoints);
}
