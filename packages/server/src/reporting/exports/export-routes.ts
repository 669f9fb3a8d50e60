// HTTP routes for exports.
import { Readable } from 'node:stream';
import {
  type ErrorCode,
  Export,
  ExportList,
  ExportRequest,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  entityTag,
  pageQuery,
  pageResponse,
  readPageRequest,
  route,
  setReplayedHeader,
} from '../../http/index.ts';
import { mediaTypes } from './csv-and-json-lines.ts';
import { type Exports, toExportView } from './exports.ts';
import { parseRangeHeader } from './range-header.ts';

const base = '/reporting/v1/exports';
const tags = ['Reporting'];
const permission = 'rep.export';
const operationId = 'listExports';
const params = Type.Object({ exportId: Type.String({ format: 'uuid' }) });
const commonErrors: ErrorCode[] = ['permission_denied', 'database_unavailable'];
const exportErrors: ErrorCode[] = [...commonErrors, 'resource_not_found'];

function registerDownload(app: FastifyInstance, exports: Exports): void {
  route(app, {
    method: 'GET',
    url: `${base}/:exportId/content`,
    operationId: 'getExportContent',
    summary: 'Get the content of an export',
    description:
      'The whole content, or one range of its bytes, so that a client can resume a download. The ' +
      'audit records each download.',
    tags,
    permission,
    opensByLink: true,
    priority: 'report',
    params,
    headers: {
      range: 'One range of bytes; send the ETag in `If-Range` to get the same content.',
    },
    produces: ['text/csv', 'application/jsonl'],
    response: { 200: Type.String(), 206: Type.String() },
    responseHeaders: {
      200: ['Content-Disposition', 'ETag'],
      206: ['Content-Disposition', 'Content-Range', 'ETag'],
    },
    errors: [...exportErrors, 'export_not_ready', 'range_not_satisfiable'],
    async handler({ caller, id, headers, params: { exportId } }, reply) {
      const row = await exports.recordDownload(caller, id, exportId);
      const etag = entityTag(row.parts);
      const isSame = headers['if-range'] === undefined || headers['if-range'] === etag;
      const range = isSame ? parseRangeHeader(headers.range, row.bytes) : 'all';
      if (range === 'none') {
        reply.header('content-range', `bytes */${row.bytes}`);
        return throwProblem(
          'range_not_satisfiable',
          `The requested range is outside the file, which has ${row.bytes} bytes.`,
        );
      }
      const { fileName } = toExportView(row);
      reply.type(mediaTypes[row.format]).headers({
        'accept-ranges': 'bytes',
        'cache-control': 'private, no-store',
        etag,
        'content-disposition': `attachment; filename="${fileName}"`,
      });
      const { first, last } = range === 'all' ? { first: 0, last: row.bytes - 1 } : range;
      if (range !== 'all') {
        reply.code(206).header('content-range', `bytes ${first}-${last}/${row.bytes}`);
      }
      reply.header('content-length', last - first + 1);
      return reply.send(Readable.from(exports.streamBytes(row, { first, last })));
    },
  });
}

function registerReads(app: FastifyInstance, exports: Exports): void {
  route(app, {
    method: 'GET',
    url: base,
    operationId,
    summary: 'List the exports',
    description: 'Newest first.',
    tags,
    permission,
    priority: 'list',
    query: Type.Object({ ...pageQuery }, { additionalProperties: false }),
    response: { 200: ExportList },
    errors: [...commonErrors, 'cursor_invalid'],
    async handler({ caller, query }) {
      const page = readPageRequest(query, operationId);
      return pageResponse(await exports.listExports(caller, page), query, operationId);
    },
  });
  route(app, {
    method: 'GET',
    url: `${base}/:exportId`,
    operationId: 'getExport',
    summary: 'Get an export',
    description: 'The progress of the export, and the time of its deletion.',
    tags,
    permission,
    priority: 'list',
    params,
    response: { 200: Export },
    errors: exportErrors,
    handler: ({ caller, params: { exportId } }) => exports.getExport(caller, exportId),
  });
}

/** @example registerExportRoutes(app, exports); */
export function registerExportRoutes(app: FastifyInstance, exports: Exports): void {
  route(app, {
    method: 'POST',
    url: base,
    operationId: 'createExport',
    summary: 'Create an export',
    description:
      'Exports one report with the filters of its list. The platform writes the export in the ' +
      'background, also across restarts, and deletes it after some days. The same ' +
      '`clientOperationId` returns the same export.',
    tags,
    permission,
    priority: 'report',
    body: ExportRequest,
    response: { 202: Export },
    responseHeaders: { 202: ['Idempotent-Replayed', 'Location', 'Retry-After'] },
    errors: [
      ...commonErrors,
      ...(['merchant_not_found', 'store_not_found', 'device_not_found'] as const),
      ...(['client_id_reused', 'export_limit_reached', 'entity_out_of_scope'] as const),
    ],
    examples: {
      'captured payments of March': {
        format: 'Csv',
        transactions: {
          from: '2026-03-01T00:00:00.000Z',
          to: '2026-04-01T00:00:00.000Z',
          state: 'Captured',
        },
      },
      'settlements of a week': {
        format: 'JsonLines',
        settlements: { from: '2026-03-02', to: '2026-03-08' },
      },
    },
    async handler({ caller, id, body }, reply) {
      const { replayed, view } = await exports.createExport(caller, id, body);
      setReplayedHeader(reply, replayed);
      reply.code(202).header('location', `${base}/${view.exportId}`).header('retry-after', '1');
      return view;
    },
  });
  registerReads(app, exports);
  registerDownload(app, exports);
  route(app, {
    method: 'POST',
    url: `${base}/:exportId/cancel`,
    operationId: 'cancelExport',
    summary: 'Cancel an export',
    description: 'Stops a running export. Its content cannot be downloaded.',
    tags,
    permission,
    params,
    response: { 200: Export },
    errors: [...exportErrors, 'export_ended'],
    handler: ({ caller, id, params: { exportId } }) => exports.cancelExport(caller, id, exportId),
  });
  route(app, {
    method: 'DELETE',
    url: `${base}/:exportId`,
    operationId: 'deleteExport',
    summary: 'Delete an export',
    description: 'Deletes the export at once, even if it still runs.',
    tags,
    permission,
    params,
    response: { 204: null },
    errors: exportErrors,
    async handler({ caller, id, params: { exportId } }, reply) {
      await exports.deleteExport(caller, id, exportId);
      return reply.code(204).send();
    },
  });
}
