// The routes of the audit, version 1.
import { Readable } from 'node:stream';
import {
  AuditCheckpoint,
  AuditKeyList,
  AuditRecord,
  auditFilters,
  auditSpan,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { registerResourceRoutes, route } from '../http/index.ts';
import type { Checkpoints } from './checkpoints.ts';
import { type RecordFinder, sequencePattern } from './find-records.ts';

const base = '/audit/v1';
const tags = ['Audit'] as const;

const sequence = (description: string) => Type.String({ maxLength: 64, description });

function registerRecords(app: FastifyInstance, finder: RecordFinder): void {
  registerResourceRoutes(app, {
    path: `${base}/records`,
    singular: 'AuditRecord',
    plural: 'AuditRecords',
    tags,
    readPermission: 'audit.read',
    identifiers: { sequence: sequence('The sequence number of the record.') },
    view: AuditRecord,
    notFoundCode: 'resource_not_found',
    scope: ({ caller }) => caller,
    list: {
      description: 'The newest first by default; the order is stable while records are added.',
      filters: auditFilters,
      cursorKey: sequencePattern,
      run: finder.list,
    },
    get: { run: async (caller, id) => ({ view: await finder.get(caller, id) }) },
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
    query: Type.Object(auditSpan, { additionalProperties: false }),
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
  registerResourceRoutes(app, {
    path: `${base}/checkpoints`,
    singular: 'AuditCheckpoint',
    plural: 'AuditCheckpoints',
    tags,
    readPermission: 'audit.read',
    identifiers: { sequence: sequence('The sequence number of the last record.') },
    view: AuditCheckpoint,
    notFoundCode: 'resource_not_found',
    scope: ({ caller }) => caller.organizationId,
    list: {
      description:
        'The oldest first. Store the newest checkpoint elsewhere: it proves all earlier records.',
      cursorKey: sequencePattern,
      run: (organizationId, _filters, page) => checkpoints.list(organizationId, page),
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
